const maxLine = 88

const isScalar = (value: unknown) => typeof value !== 'object' || value === null
const isFlat = (value: object) =>
  Object.values(value).every((one) => isScalar(one) || (Array.isArray(one) && one.every(isScalar)))
const entriesOf = (value: object) => Object.entries(value).filter(([, one]) => one !== undefined)

/** A value as JSON of two spaces, with small lists and objects on one line. */
export function writeJson(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const line = onOneLine(value)
  if (indent !== '' && isFlat(value) && indent.length + line.length <= maxLine) return line
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((one) => inner + writeJson(one, inner))
    : entriesOf(value).map(([key, one]) => `${inner}${JSON.stringify(key)}: ${writeJson(one, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return parts.length === 0 ? `${open}${close}` : `${open}\n${parts.join(',\n')}\n${indent}${close}`
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = entriesOf(value).map(([key, one]) => `${JSON.stringify(key)}: ${onOneLine(one)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

import { styleText } from 'node:util'
import type { Answer, Call } from './walk.ts'

/** A call as one line of curl. Token and address are shell variables. */
export function curlLine({ method, path, as, body, accept, approval }: Call): string {
  return [
    'curl -s',
    ...(method === 'PUT' || (method === 'POST' && !body) ? [`-X ${method}`] : []),
    /[?&]/.test(path) ? `"$URL${path}"` : `$URL${path}`,
    ...(accept ? [`-H "Accept: ${accept}"`] : []),
    ...(as ? [`-H "Authorization: Bearer $${as}"`] : []),
    ...(approval ? [`-H "Approval-Request: ${approval}"`] : []),
    ...(body ? [`--json '${JSON.stringify(body).replaceAll("'", "'\\''")}'`] : []),
  ].join(' ')
}

const width = 110
const maxText = 240
const maxToken = 100
const maxItems = 4

/** An answer as indented lines: status and body. Long texts and lists are cut, with a note. */
export const showAnswer = ({ status, body }: Answer): string => dim(`${status} ${pretty(cut(body))}`)

/** Any value in the same form, with a name. */
export const showValue = (name: string, value: unknown): string => dim(`${name} ${pretty(cut(value))}`)

const dim = (text: string) => styleText('dim', text.replace(/^/gm, '   '))

/** JSON with each value on one line if it fits. */
function pretty(value: unknown, indent = ''): string {
  const line = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ')
  if (typeof value !== 'object' || value === null || line.length + indent.length <= width) return line
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((item) => inner + pretty(item, inner))
    : Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${pretty(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${parts.join(',\n')}\n${indent}${close}`
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value)
  if (Array.isArray(value)) return cutList(value)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cut(inner)]))
}

const cutText = (text: string) =>
  text.length > (text.includes(' ') ? maxText : maxToken)
    ? `${text.slice(0, 24)}… (${text.length} characters)`
    : text

const cutList = (list: unknown[]) =>
  list.length > maxItems ? [...list.slice(0, maxItems).map(cut), `… (${list.length} in all)`] : list.map(cut)

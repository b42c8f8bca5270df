/**
 * Canonical JSON (RFC 8785, JCS): members sorted by UTF-16 code units, no whitespace, numbers as ECMAScript writes
 * them. Undefined members are left out. Equal texts mean equal values.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (typeof value === 'object' && value !== null) return objectText(value as Record<string, unknown>)
  // JSON.parse reads 1e400 as Infinity, which JSON.stringify writes as null. Different values must stay different.
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : JSON.stringify(value)
}

const objectText = (value: Record<string, unknown>): string => {
  const members = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`)
  return `{${members.join(',')}}`
}

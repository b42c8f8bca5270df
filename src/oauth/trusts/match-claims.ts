/** Whether a value of a claim is what a pattern says, compared whole. `*` stands for one segment, or a part of it, between `:` or `/`. */
export function matches(pattern: string, value: unknown): boolean {
  if (!/^(string|number|boolean)$/.test(typeof value)) return false
  const [patterns, parts] = [segmentsOf(pattern), segmentsOf(String(value))]
  return patterns.length === parts.length && patterns.every((one, at) => fits(one, parts[at]!))
}

const segmentsOf = (text: string) => text.split(/([:/])/)

// No regular expression: its time grows with a high power of the length, and nothing of the claims is verified yet.
function fits(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop()
  if (tail === undefined) return pattern === text
  if (!text.startsWith(head)) return false
  let end = head.length
  for (const part of rest) {
    const at = text.indexOf(part, end + 1)
    if (at < 0) return false
    end = at + part.length
  }
  return text.length - tail.length > end && text.endsWith(tail)
}

/** The first claim that is not as the patterns say; undefined if all are. */
export const mismatch = (
  patterns: Record<string, string>,
  claims: Record<string, unknown>,
): string | undefined =>
  Object.keys(patterns).find(
    (name) => !Object.hasOwn(claims, name) || !matches(patterns[name]!, claims[name]),
  )

/**
 * Whether a pattern of `sub` names whose the workload is. An issuer such as that of GitHub signs for everyone, so the first two segments
 * (`repo:acme`, `system:serviceaccount`) are written out.
 */
export const namesSubject = (pattern: string): boolean => {
  const [first = '', second = ''] = pattern.split(/[:/]/)
  return (
    pattern === pattern.replaceAll('*', '') ||
    (first !== '' && second !== '' && !`${first}${second}`.includes('*'))
  )
}

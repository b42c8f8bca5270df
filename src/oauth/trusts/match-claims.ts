const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Whether a value of a claim is what a pattern says, compared whole. `*` stands for one segment, or a part of it, between `:` or `/`. */
export function matches(pattern: string, value: unknown): boolean {
  if (!/^(string|number|boolean)$/.test(typeof value)) return false
  const form = pattern.split('*').map(literal).join('[^:/]+')
  return new RegExp(`^${form}$`, 's').test(String(value))
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

/** A type of event as what happened: `tenant.member_added` is “Member added”. */
export function eventInWords(type: string): string {
  const words = type
    .slice(type.indexOf('.') + 1)
    .replaceAll(/[_.]/g, ' ')
    .replace(/\botp\b/, 'second factor')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

// Base 62 with the digits 0-9A-Za-z, the most significant first: it needs no encoding in URLs, headers and forms.

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const maxUuid = 2n ** 128n

/** A number in base 62, left-padded with zeros. */
export function base62(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text.padStart(length, '0')
}

/** A UUID as 22 digits. */
export const base62OfUuid = (id: string): string => base62(BigInt(`0x${id.replaceAll('-', '')}`), 22)

/** The UUID of 22 digits of base 62; null for a number that no UUID has. */
export function uuidOfBase62(text: string): string | null {
  const number = [...text].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n)
  if (number >= maxUuid) return null
  const hex = number.toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

// Base 62 with the digits 0-9A-Za-z, the most significant first: it needs no encoding in URLs, headers and forms.

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const maxUuid = 2n ** 128n

// Arithmetic of bigints is slow, that of numbers is exact up to 2^53: eight digits at a time.
const length = 8
const chunk = 62n ** BigInt(length)

/** A number in base 62, left-padded with zeros to `width`, which holds it. */
export function base62(number: bigint, width: number): string {
  let text = ''
  for (let rest = number; rest > 0n; rest /= chunk) text = digitsOf(Number(rest % chunk)) + text
  return text.padStart(width, '0').slice(-width)
}

function digitsOf(number: number): string {
  let text = ''
  for (let rest = number; text.length < length; rest = Math.floor(rest / 62)) text = digits[rest % 62] + text
  return text
}

/** A UUID as 22 digits. */
export const base62OfUuid = (id: string): string => base62(BigInt(`0x${id.replaceAll('-', '')}`), 22)

/** The UUID of 22 digits of base 62; null for a number that no UUID has. */
export function uuidOfBase62(text: string): string | null {
  const number =
    (numberOf(text.slice(0, -16)) * chunk + numberOf(text.slice(-16, -8))) * chunk + numberOf(text.slice(-8))
  return number < maxUuid ? uuidOfHex(number.toString(16).padStart(32, '0')) : null
}

function numberOf(text: string): bigint {
  let number = 0
  for (const digit of text) number = number * 62 + digits.indexOf(digit)
  return BigInt(number)
}

/** The UUID that 32 hexadecimal digits name, from the place `at` on. */
export const uuidOfHex = (hex: string, at = 0): string =>
  [
    hex.slice(at, at + 8),
    hex.slice(at + 8, at + 12),
    hex.slice(at + 12, at + 16),
    hex.slice(at + 16, at + 20),
    hex.slice(at + 20, at + 32),
  ].join('-')

/** What can come next in a JSON text. */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | 'end'

const closing = { '{': '}', '[': ']' } as const

/**
 * Where a text stops being JSON (RFC 8259), as an offset; null if it is JSON. `JSON.parse` names no position for most
 * faults, and its messages quote the text.
 */
export function jsonFault(text: string): number | null {
  const open: (keyof typeof closing)[] = []
  let expected: Expected = 'value'
  let at = skipBlank(text, 0)
  for (; at < text.length; at = skipBlank(text, at)) {
    const sign = text[at]!
    const inside = open.at(-1)
    if (inside && sign === closing[inside] && (expected === 'end' || expected.endsWith(sign))) {
      open.pop()
      expected = 'end'
      at++
    } else if (expected === 'end') {
      if (sign !== ',' || !inside) return at
      expected = inside === '{' ? 'name' : 'value'
      at++
    } else if (expected === ':') {
      if (sign !== ':') return at
      expected = 'value'
      at++
    } else if (expected.startsWith('name') || sign === '"') {
      if (sign !== '"') return at
      const { end, isClosed } = stringAt(text, at)
      if (!isClosed) return end
      expected = expected.startsWith('name') ? ':' : 'end'
      at = end
    } else if (sign === '{' || sign === '[') {
      open.push(sign)
      expected = sign === '{' ? 'name or }' : 'value or ]'
      at++
    } else {
      const end = matchEnd(literal, text, at)
      if (end === at) return at
      expected = 'end'
      at = end
    }
  }
  return expected === 'end' && open.length === 0 ? null : at
}

/** The first offset from `from` on that is no blank of JSON. */
export const skipBlank = (text: string, from: number): number => matchEnd(blank, text, from)

const blank = /[ \t\n\r]+/y
const literal = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
// A few at a time: the engine of patterns keeps each repetition in memory.
const characters = /(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})){1,500}/y

/** The end of a string; where it breaks off, if it is not closed. */
function stringAt(text: string, at: number): { end: number; isClosed: boolean } {
  let end = at + 1
  for (let next = matchEnd(characters, text, end); next > end; next = matchEnd(characters, text, end))
    end = next
  return text[end] === '"' ? { end: end + 1, isClosed: true } : { end, isClosed: false }
}

/** The end of what a sticky pattern matches at an offset; the offset itself without a match. */
function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

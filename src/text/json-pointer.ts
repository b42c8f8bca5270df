import { skipBlank } from './json-fault.ts'
import { positionAt, type TextPosition } from './text-position.ts'

/**
 * The start of the value of a JSON Pointer (RFC 6901) in a JSON text. If the value is missing, the start of the nearest
 * value around it; if the text is not JSON, its start. The text was parsed before, so it is not checked here.
 */
export function locate(text: string, pointer: string): TextPosition {
  return positionAt(text, startOf(text, stepsOf(pointer)))
}

/** The path of a JSON Pointer (RFC 6901). */
export const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

function startOf(text: string, path: readonly string[]): number {
  let at = skipBlank(text, 0)
  for (const key of path) {
    const inner = memberStart(text, at, key)
    if (inner === null) return at
    at = inner
  }
  return at
}

/** The start of the value of `key` in the object or list that starts at `at`. Of duplicate keys the last one counts. */
function memberStart(text: string, at: number, key: string): number | null {
  const isList = text[at] === '['
  if (!isList && text[at] !== '{') return null
  let found: number | null = null
  let index = 0
  for (let i = skipBlank(text, at + 1); i < text.length && text[i] !== ']' && text[i] !== '}'; index++) {
    const end = isList ? i : valueEnd(text, i)
    const name = isList ? String(index) : JSON.parse(text.slice(i, end))
    const value = isList ? i : skipBlank(text, skipBlank(text, end) + 1)
    if (name === key) found = value
    i = skipBlank(text, valueEnd(text, value))
    if (text[i] === ',') i = skipBlank(text, i + 1)
  }
  return found
}

/** The end of the value that starts at `at`. */
function valueEnd(text: string, at: number): number {
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const c = text[i]!
    if (c === '"') i = stringEnd(text, i) - 1
    else if (c === '{' || c === '[') depth++
    else if (c === '}' || c === ']') {
      if (depth === 0) return i
      depth--
    } else if (depth > 0 || !' \t\n\r,:'.includes(c)) continue
    else return i
    if (depth === 0) return i + 1
  }
  return text.length
}

function stringEnd(text: string, at: number): number {
  let i = at + 1
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1
  return i + 1
}

/** The JSON Pointer (RFC 6901) to a path. */
export const pointerTo = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

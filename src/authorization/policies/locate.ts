/** A place in a text, both from 1; columns count UTF-16 code units. */
export interface Place {
  line: number
  column: number
}

/**
 * Where in a JSON text the value of a JSON Pointer (RFC 6901) begins: the nearest value around it where it is not
 * there, the beginning of the text where that is no JSON. The text has been parsed before, so it is not checked again.
 */
export function locate(text: string, pointer: string): Place {
  const path = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const before = text.slice(0, startOf(text, path)).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

function startOf(text: string, path: readonly string[]): number {
  let at = skipBlank(text, 0)
  for (const key of path) {
    const inner = memberStart(text, at, key)
    if (inner === null) return at
    at = inner
  }
  return at
}

/** Where the member `key` of the object or list that begins at `at` has its value; of doubled keys the last counts. */
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

function skipBlank(text: string, from: number): number {
  let i = from
  while (i < text.length && ' \t\n\r'.includes(text[i]!)) i++
  return i
}

/** Where the value that begins at `at` ends. */
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

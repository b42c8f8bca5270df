import { type Filter, parse } from 'scim2-parse-filter'
import { scimFault } from '../scim-error.ts'

export type { Filter } from 'scim2-parse-filter'

const maxLength = 4_000
const maxDepth = 20

/** The tree of a filter (RFC 7644 §3.4.2.2). 400 `invalid_filter`. */
export function parseFilter(text: string): Filter {
  if (text.length > maxLength)
    throw scimFault('invalid_filter', `A filter can have at most ${maxLength} characters.`)
  if (depthOf(text) > maxDepth)
    throw scimFault('invalid_filter', `A filter can be nested ${maxDepth} levels deep at most.`)
  try {
    return parse(text)
  } catch {
    throw scimFault('invalid_filter', 'This is no filter, such as userName eq "ada@example.com".')
  }
}

/** How deep brackets and `not` are nested at most: the parser calls itself for each. */
function depthOf(text: string): number {
  let [depth, deepest] = [(text.match(/\bnot\b/gi) ?? []).length, 0]
  for (const letter of text.replace(/"(?:[^"\\]|\\.)*"/g, '')) {
    if (letter === '(' || letter === '[') depth++
    else if (letter === ')' || letter === ']') depth--
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

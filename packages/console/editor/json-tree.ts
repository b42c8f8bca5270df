import { jsonLanguage } from '@codemirror/lang-json'

export interface Range {
  from: number
  to: number
}

/** A node of the syntax tree, which a text that is unfinished or faulty has, too. */
export type JsonNode = ReturnType<typeof jsonLanguage.parser.parse>['topNode']

export const treeOf = (text: string) => jsonLanguage.parser.parse(text)

const isValue = ({ name }: JsonNode) => /^(Object|Array|String|Number|True|False|Null)$/.test(name)
const childrenOf = (node: JsonNode, name: string) => node.getChildren(name)
const valuesOf = (node: JsonNode): JsonNode[] => {
  const values: JsonNode[] = []
  for (let child = node.firstChild; child; child = child.nextSibling) if (isValue(child)) values.push(child)
  return values
}

/** What a text or number says; undefined if it is no JSON. */
export function readNode(node: JsonNode | null | undefined, text: string): unknown {
  try {
    return node ? JSON.parse(text.slice(node.from, node.to)) : undefined
  } catch {
    return undefined
  }
}

const nameOf = (property: JsonNode, text: string) => readNode(property.getChild('PropertyName'), text)

/** The value of a member of an object, or of an entry of a list. Of duplicate members the last one counts. */
export function memberOf(node: JsonNode, key: string, text: string): JsonNode | undefined {
  if (node.name === 'Array') return valuesOf(node)[Number(key)]
  const property = childrenOf(node, 'Property').findLast((one) => nameOf(one, text) === key)
  return property && valuesOf(property)[0]
}

/** Where the value of a JSON Pointer (RFC 6901) stands, or the nearest value around it. */
export function placeOf(text: string, pointer: string): Range {
  let node = valuesOf(treeOf(text).topNode)[0]
  for (const part of pointer.split('/').slice(1)) {
    const inner = node && memberOf(node, part.replaceAll('~1', '/').replaceAll('~0', '~'), text)
    if (!inner) break
    node = inner
  }
  return node ?? { from: 0, to: 0 }
}

/** The JSON Pointer of a value. */
export function pointerOf(node: JsonNode, text: string): string {
  const { parent } = node
  if (!parent) return ''
  const around = pointerOf(parent, text)
  if (parent.name === 'Array')
    return `${around}/${valuesOf(parent).findIndex(({ from }) => from === node.from)}`
  if (parent.name !== 'Property') return around
  return `${around}/${String(nameOf(parent, text)).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The first part that is not JSON: what is there instead, or the character after which something is missing. */
export function faultIn(text: string): Range {
  const cursor = treeOf(text).cursor()
  do {
    const { from, to } = cursor
    if (cursor.type.isError)
      return from < to ? { from, to } : { from: Math.max(0, endOf(text, from) - 1), to: endOf(text, from) }
  } while (cursor.next())
  return { from: 0, to: 0 }
}

const endOf = (text: string, at: number) => text.slice(0, at).trimEnd().length

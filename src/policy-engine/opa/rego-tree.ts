import { run } from './opa.ts'

/** A node of the syntax tree that `opa parse` prints. */
export interface Node {
  location?: { row: number; col: number; text: string }
  type?: string
  value?: unknown
  negated?: boolean
  terms?: unknown
}

export interface Rule extends Node {
  default?: boolean
  head: Node & { name?: string; key?: Node; value?: Node; ref: Node[]; args?: Node[] }
  body?: Node[]
}

export interface Module {
  package: { path: { value: string }[]; location: { row: number; col: number } }
  imports?: { path: Node; location: { row: number; col: number } }[]
  rules?: Rule[]
}

/**
 * The syntax tree of a Rego file (an absolute path, or one from the project's root). Throws what `opa parse` says of a
 * malformed one.
 */
export async function parseRego(opa: string, file: string): Promise<Module> {
  const { code, stdout, stderr } = await run(opa, [
    'parse',
    '-f',
    'json',
    '--json-include',
    'locations',
    file,
  ])
  if (code !== 0) throw new Error(`${file}: ${stderr}`)
  return JSON.parse(stdout)
}

/** The name of a rule: the first part of its head. */
export const ruleName = ({ head }: Rule): string => String(head.ref[0]?.value)

/** A name such as `input.resource.id`: its first part, then each part, null for one that is not written as a text. */
export interface Ref {
  root: string
  path: (string | null)[]
  node: Node
}

/** Every name in a tree that has the root `input` or `data`, the outer before the inner. */
export function refsIn(node: unknown): Ref[] {
  if (typeof node !== 'object' || node === null) return []
  const inner = Object.values(node).flatMap(refsIn)
  const ref = refOf(node as Node)
  return ref ? [ref, ...inner] : inner
}

function refOf(node: Node): Ref | undefined {
  if (node.type !== 'ref' || !Array.isArray(node.value)) return undefined
  const [head, ...rest] = node.value as Node[]
  const root = String(head?.value)
  if (head?.type !== 'var' || (root !== 'input' && root !== 'data')) return undefined
  return { root, path: rest.map(({ type, value }) => (type === 'string' ? String(value) : null)), node }
}

/** The expressions `not f(…)`. With an undefined argument such a call is undefined, too, and its rule does not apply. */
export function negatedCalls(node: unknown): Node[] {
  if (typeof node !== 'object' || node === null) return []
  const { negated, terms } = node as Node
  const here = negated && Array.isArray(terms) ? [node as Node] : []
  return [...here, ...Object.values(node).flatMap(negatedCalls)]
}

/** What is wrong with a negated call, and what to do. */
export const negatedCall =
  'a negated call is undefined if an argument is: give the result a rule with a default, and negate that'

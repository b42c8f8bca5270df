import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  insertCompletionText,
  snippet,
} from '@codemirror/autocomplete'
import type { EditorView } from '@codemirror/view'
import { type JsonNode, memberOf, pointerOf, readNode, treeOf } from './json-tree.ts'

export interface Choice {
  label: string
  detail?: string
  /** What is written. */
  insert: string
  /** Whether `#{}` in it is where the cursor goes, and a tab a step of indentation. */
  isTemplate?: boolean
}

/** Where something can be written: the name of a member, or a value. */
export interface Place {
  kind: 'name' | 'value'
  /** The JSON Pointer (RFC 6901) of the value; for a name, of its object. */
  pointer: string
  /** Whether a name has its value already. */
  isNamed: boolean
  /** The value of another member of the object. */
  sibling: (name: string) => unknown
}

/** What can be written at a place. */
export type Complete = (place: Place) => readonly Choice[]

/** Suggestions below the cursor: while a text or name is typed, and with Ctrl-Space. */
export const completion = (complete: () => Complete | undefined) =>
  autocompletion({
    icons: false,
    override: [(context) => suggest(context, complete())],
    compareCompletions: () => 0, // what fits equally well stays in its order
    interactionDelay: 0, // else an arrow pressed at once moves the cursor, and Enter breaks the line
  })

function suggest(
  { state, pos, explicit }: CompletionContext,
  complete: Complete | undefined,
): CompletionResult | null {
  const text = state.doc.toString()
  const typed = typedAt(text, pos)
  const from = pos - typed.length
  const quote = typed.startsWith('"') ? 1 : 0
  const place = complete && (typed || explicit) ? placeAt(text, from, quote ? endOf(text, pos) : pos) : null
  const choices = place ? complete!(place) : []
  if (choices.length === 0) return null
  const options = choices.map(({ label, detail, insert, isTemplate }) => ({
    label,
    ...(detail && { detail }),
    apply: (view: EditorView, chosen: Completion, start: number, end: number) => {
      const [begin, stop] = quote ? [start - 1, endOf(view.state.doc.toString(), end)] : [start, end]
      if (isTemplate) snippet(insert)(view, chosen, begin, stop)
      else view.dispatch(insertCompletionText(view.state, insert, begin, stop))
    },
  }))
  // What stands from here to the cursor is compared with the labels.
  return { from: from + quote, options, validFor: /^[^"\s]*$/ }
}

/** What is typed before a position: a text that begins there, or a word. */
function typedAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  const [, open] = /^(?:[^"]|"(?:[^"\\]|\\.)*")*("(?:[^"\\]|\\.)*)$/.exec(line) ?? []
  return open ?? /[\w.-]*$/.exec(line)![0]
}

/** The end of the text that the cursor is in: behind its closing quote, if that follows. */
const endOf = (text: string, at: number) => at + (/^[^"\\\s,{}[\]]*"/.exec(text.slice(at))?.[0].length ?? 0)

/** The place of a word. It is read with an empty text instead, so that what is typed does not disturb the rest. */
function placeAt(text: string, from: number, to: number): Place | null {
  const read = `${text.slice(0, from)}""${text.slice(to)}`
  const node: JsonNode = treeOf(read).resolveInner(from + 1)
  const isName = node.name === 'PropertyName'
  const object = isName ? node.parent?.parent : around(node, 'Object')
  if (!isName && node.name !== 'String') return null
  return {
    kind: isName ? 'name' : 'value',
    pointer: pointerOf(isName && object ? object : node, read),
    isNamed: /^\s*:/.test(text.slice(to)),
    sibling: (name) => object && readNode(memberOf(object, name, read), read),
  }
}

function around(node: JsonNode, name: string): JsonNode | null {
  for (let at: JsonNode | null = node; at; at = at.parent) if (at.name === name) return at
  return null
}

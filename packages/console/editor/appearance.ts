import { type EditorState, type Range, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view'
import { placeOf, readJson } from './read-json.ts'

/** Something to say about a value of the document, below its line. */
export interface Remark {
  pointer: string
  /** Where it is, if that is no value. */
  range?: { from: number; to: number }
  detail: string
  tone: 'fault' | 'warning'
}

export const setRemarks = StateEffect.define<readonly Remark[]>()

interface Token {
  kind: string
  from: number
  to: number
}

const coloured = (tokensOf: (text: string) => readonly Token[]) => {
  const colourOf = (state: EditorState): DecorationSet =>
    Decoration.set(
      tokensOf(state.doc.toString()).map(({ kind, from, to }) =>
        Decoration.mark({ class: `json-${kind}` }).range(from, to),
      ),
    )
  return StateField.define<DecorationSet>({
    create: colourOf,
    update: (set, { docChanged, state }) => (docChanged ? colourOf(state) : set),
    provide: (field) => EditorView.decorations.from(field),
  })
}

const regoWords =
  /(#.*)|("(?:[^"\\\n]|\\.)*"?|`[^`]*`?)|\b(\d[\d.]*)\b|\b(package|import|as|default|if|else|contains|some|every|in|not|with|true|false|null)\b/g
const kinds = ['mark', 'string', 'number', 'name']

/** The comments, texts, numbers and keywords of a module. */
const regoTokens = (text: string): Token[] =>
  [...text.matchAll(regoWords)].map(({ index, 0: word, ...groups }) => ({
    kind: kinds.find((_, group) => (groups as Record<number, string>)[group + 1] !== undefined) ?? 'word',
    from: index,
    to: index + word.length,
  }))

/** Names, texts and numbers in their colours. */
export const colours = coloured((text) => readJson(text).tokens)
export const regoColours = coloured(regoTokens)

class RemarkBelow extends WidgetType {
  remark: Remark

  constructor(remark: Remark) {
    super()
    this.remark = remark
  }

  override eq({ remark }: RemarkBelow): boolean {
    return remark.detail === this.remark.detail && remark.tone === this.remark.tone
  }

  toDOM(): HTMLElement {
    const line = document.createElement('div')
    line.className = `remark ${this.remark.tone}`
    line.textContent = this.remark.detail
    return line
  }
}

function decorated(state: EditorState, list: readonly Remark[]): DecorationSet {
  const ranges: Range<Decoration>[] = []
  for (const remark of list) {
    const { from, to } = remark.range ?? placeOf(readJson(state.doc.toString()), remark.pointer)
    const line = state.doc.lineAt(Math.min(from, state.doc.length))
    const end = Math.min(to, line.to)
    if (end > from) ranges.push(Decoration.mark({ class: `marked ${remark.tone}` }).range(from, end))
    const widget = new RemarkBelow(remark)
    ranges.push(Decoration.widget({ widget, block: true, side: 1 }).range(line.to))
  }
  return Decoration.set(ranges, true)
}

/** Faults and warnings where they are; they move with the text until the next ones come. */
export const remarks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, { changes, effects, state }) {
    for (const effect of effects) if (effect.is(setRemarks)) return decorated(state, effect.value)
    return set.map(changes)
  },
  provide: (field) => EditorView.decorations.from(field),
})

import { type EditorState, type Range, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view'
import { faultIn, placeOf, type Range as TextRange } from './json-tree.ts'

/** Something to say about a value of the document, below its line. */
export interface Remark {
  pointer: string
  /** Where it is, if that is no value; `not_json`: where the text stops being JSON. */
  range?: TextRange | 'not_json'
  detail: string
  tone: 'fault' | 'warning'
}

export const setRemarks = StateEffect.define<readonly Remark[]>()

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

/** Where a remark is in a text. */
export const rangeOf = ({ range, pointer }: Remark, text: string): TextRange =>
  range === 'not_json' ? faultIn(text) : (range ?? placeOf(text, pointer))

function decorated(state: EditorState, list: readonly Remark[]): DecorationSet {
  const ranges: Range<Decoration>[] = []
  for (const remark of list) {
    const { from, to } = rangeOf(remark, state.doc.toString())
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

import { EditorView } from '@codemirror/view'

/**
 * Types and deletes through transactions. Left to the browser, an edit across coloured texts makes elements with inline
 * styles, which the policy of the page refuses and reports. Input methods that compose text go their own way.
 */
export const plainInput = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event
    const types = inputType === 'insertText'
    if (view.composing || event.isComposing || view.state.readOnly) return false
    if (!types && !inputType.startsWith('delete')) return false
    const range = rangeOf(event, view)
    if (!range) return false
    event.preventDefault()
    const insert = types ? (data ?? '') : ''
    view.dispatch({
      changes: { ...range, insert },
      selection: { anchor: range.from + insert.length },
      userEvent: types ? 'input.type' : 'delete',
      scrollIntoView: true,
    })
    return true
  },
})

/** What the event is about: the selection, or what the browser would delete beside the cursor. */
function rangeOf(event: InputEvent, view: EditorView): { from: number; to: number } | null {
  const { from, to, empty } = view.state.selection.main
  if (!empty || event.inputType === 'insertText') return { from, to }
  const [target] = event.getTargetRanges()
  if (!target) return null
  const start = view.posAtDOM(target.startContainer, target.startOffset)
  const end = view.posAtDOM(target.endContainer, target.endOffset)
  return { from: Math.min(start, end), to: Math.max(start, end) }
}

import { EditorSelection, EditorState } from '@codemirror/state'
import { EditorView, keymap, lineNumbers } from '@codemirror/view'
import { colours, type Remark, regoColours, remarks, setRemarks } from './appearance.ts'
import { type Complete, completion } from './completion.ts'
import { history } from './history.ts'
import { plainInput } from './plain-input.ts'
import { placeOf, readJson } from './read-json.ts'
import { theme } from './theme.ts'

export type Language = 'json' | 'rego'

interface Asked {
  shadow: ShadowRoot
  doc: string
  label: string
  listLabel: string
  isReadOnly: boolean
  language: Language
  onChange: (text: string) => void
  complete: () => Complete | undefined
}

/** An editor of JSON or Rego in a shadow root: there, CodeMirror uses style sheets that the policy of the page allows. */
export function createEditor(asked: Asked) {
  const { shadow, label, listLabel, doc, isReadOnly, language, onChange, complete } = asked
  const { keys, extension } = history()
  const view = new EditorView({
    root: shadow,
    parent: shadow,
    state: EditorState.create({
      doc,
      extensions: [
        theme,
        lineNumbers(),
        EditorView.lineWrapping,
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({
          'aria-label': label,
          spellcheck: 'false',
          ...(isReadOnly && { 'aria-readonly': 'true' }),
        }),
        language === 'json' ? colours : regoColours,
        remarks,
        extension,
        plainInput,
        isReadOnly ? [] : completion(complete, listLabel),
        keymap.of([{ key: 'Enter', run: breakLine }, { key: 'Mod-a', run: selectAll }, ...keys]),
        EditorView.updateListener.of(({ docChanged, state }) => docChanged && onChange(state.doc.toString())),
      ],
    }),
  })
  return {
    setText(text: string) {
      const { doc } = view.state
      if (doc.toString() !== text) view.dispatch({ changes: { from: 0, to: doc.length, insert: text } })
    },
    setRemarks: (list: readonly Remark[]) => view.dispatch({ effects: setRemarks.of(list) }),
    /** Goes on where a person is writing in another field with the same text. */
    takeOver({ selectionStart: anchor, selectionEnd: head }: HTMLTextAreaElement) {
      view.dispatch({ selection: { anchor, head } })
      view.focus()
    },
    /** Puts the cursor to the place of a remark. */
    goTo({ pointer, range }: Remark) {
      const { from } = range ?? placeOf(readJson(view.state.doc.toString()), pointer)
      view.dispatch({
        selection: { anchor: from },
        effects: EditorView.scrollIntoView(from, { y: 'center' }),
      })
      view.focus()
    },
    destroy: () => view.destroy(),
  }
}

export type Editor = ReturnType<typeof createEditor>

/** The browser's own selection stops at a remark below a line. */
function selectAll({ state, dispatch }: EditorView): boolean {
  dispatch(state.update({ selection: { anchor: 0, head: state.doc.length } }))
  return true
}

/** A new line with the indentation of the one before, deeper after an opening bracket. */
function breakLine({ state, dispatch }: EditorView): boolean {
  if (state.readOnly) return false
  const change = state.changeByRange(({ from, to }) => {
    const { text } = state.doc.lineAt(from)
    const indent = /^ */.exec(text)?.[0] ?? ''
    const opens = '{['.includes(state.sliceDoc(from - 1, from) || ' ')
    const closes = opens && '}]'.includes(state.sliceDoc(to, to + 1) || ' ')
    const inside = `\n${indent}${opens ? '  ' : ''}`
    const anchor = from + inside.length
    const insert = closes ? `${inside}\n${indent}` : inside
    return { changes: { from, to, insert }, range: EditorSelection.cursor(anchor) }
  })
  dispatch(state.update(change, { scrollIntoView: true, userEvent: 'input' }))
  return true
}

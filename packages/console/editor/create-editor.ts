import { history, historyKeymap, standardKeymap } from '@codemirror/commands'
import { EditorState } from '@codemirror/state'
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { type Remark, rangeOf, remarks, setRemarks } from './appearance.ts'
import { type Complete, completion } from './completion.ts'
import { languages } from './languages.ts'
import { plainInput } from './plain-input.ts'
import { theme } from './theme.ts'

export type Language = keyof typeof languages

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
  const view = new EditorView({
    root: shadow,
    parent: shadow,
    state: EditorState.create({
      doc,
      extensions: [
        theme,
        lineNumbers(),
        highlightSpecialChars(), // some turn the text after them round
        EditorView.lineWrapping,
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({
          'aria-label': label,
          spellcheck: 'false',
          ...(isReadOnly && { 'aria-readonly': 'true' }),
        }),
        languages[language],
        remarks,
        history(),
        plainInput,
        isReadOnly || language !== 'json' ? [] : completion(complete),
        EditorState.phrases.of({ Completions: listLabel }),
        keymap.of([...historyKeymap, ...standardKeymap]),
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
    goTo(remark: Remark) {
      const { from } = rangeOf(remark, view.state.doc.toString())
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

import { Annotation, type ChangeSet, type EditorSelection } from '@codemirror/state'
import { EditorView, type KeyBinding, type ViewUpdate } from '@codemirror/view'

interface Step {
  changes: ChangeSet
  selection: EditorSelection
}

const maxSteps = 300
const togetherMs = 700
const from = Annotation.define<'undo' | 'redo'>()

/** Undo and redo. The package of CodeMirror for it brings its language system along, which this editor does not use. */
export function history() {
  const done: Step[] = []
  const undone: Step[] = []
  let typedAt = 0

  const move = (view: EditorView, kind: 'undo' | 'redo') => {
    const step = (kind === 'undo' ? done : undone).pop()
    if (!step || view.state.readOnly) return false
    view.dispatch({ ...step, annotations: from.of(kind), scrollIntoView: true })
    return true
  }

  const record = ({ transactions }: ViewUpdate) => {
    for (const transaction of transactions.filter(({ docChanged }) => docChanged)) {
      const { startState, changes } = transaction
      const step = { changes: changes.invert(startState.doc), selection: startState.selection }
      const kind = transaction.annotation(from)
      if (kind) {
        ;(kind === 'undo' ? undone : done).push(step)
        continue
      }
      const now = Date.now()
      const last = done.at(-1)
      if (last && transaction.isUserEvent('input.type') && now - typedAt < togetherMs)
        last.changes = step.changes.compose(last.changes)
      else done.push(step)
      typedAt = transaction.isUserEvent('input.type') ? now : 0
      undone.length = 0
      done.splice(0, done.length - maxSteps)
    }
  }

  const keys: KeyBinding[] = [
    { key: 'Mod-z', run: (view) => move(view, 'undo'), preventDefault: true },
    { key: 'Mod-Shift-z', run: (view) => move(view, 'redo'), preventDefault: true },
    { key: 'Mod-y', run: (view) => move(view, 'redo'), preventDefault: true },
  ]
  const ofBrowser = EditorView.domEventHandlers({
    beforeinput: (event, view) => {
      if (!event.inputType.startsWith('history')) return false
      event.preventDefault()
      return move(view, event.inputType === 'historyUndo' ? 'undo' : 'redo')
    },
  })
  return { keys, extension: [EditorView.updateListener.of(record), ofBrowser] }
}

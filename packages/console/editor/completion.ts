import { type EditorState, Prec, StateEffect, StateField } from '@codemirror/state'
import { EditorView, type KeyBinding, keymap, showTooltip, type Tooltip } from '@codemirror/view'

export interface Choice {
  label: string
  /** What is written; the cursor goes to `‸`, or to the end. */
  insert: string
  detail?: string
}

export interface Choices {
  from: number
  to: number
  choices: Choice[]
}

/** What can be written at a position of a text; null if nothing is known. */
export type Complete = (text: string, position: number) => Choices | null

type Open = (Choices & { at: number }) | null

const maxShown = 60
const setOpen = StateEffect.define<Open>()

/** Suggestions below the cursor: while a text or name is typed, and with Ctrl-Space. */
export function completion(complete: () => Complete | undefined, listLabel: string) {
  const suggest = (state: EditorState): Open => {
    const { main } = state.selection
    const found = main.empty ? complete()?.(state.doc.toString(), main.head) : null
    if (!found || found.choices.length === 0) return null
    return { ...found, choices: found.choices.slice(0, maxShown), at: 0 }
  }

  const field = StateField.define<Open>({
    create: () => null,
    update(open, transaction) {
      for (const effect of transaction.effects) if (effect.is(setOpen)) return effect.value
      if (transaction.isUserEvent('input.type') || (open && transaction.isUserEvent('delete')))
        return suggest(transaction.state)
      return transaction.docChanged || transaction.selection ? null : open
    },
    provide: (field) => [
      showTooltip.from(field, (open) => open && tooltipOf(open)),
      EditorView.contentAttributes.compute([field], (state) => attributesOf(state.field(field))),
    ],
  })

  const tooltipOf = (open: NonNullable<Open>): Tooltip => ({
    pos: open.from,
    create: (view) => ({ dom: listOf(view, open) }),
  })

  function listOf(view: EditorView, open: NonNullable<Open>): HTMLElement {
    const list = element('ul', { id: 'choices', role: 'listbox', 'aria-label': listLabel })
    for (const [index, choice] of open.choices.entries()) {
      const isChosen = index === open.at
      const row = element('li', { id: `choice-${index}`, role: 'option', 'aria-selected': String(isChosen) })
      row.append(element('span', {}, choice.label), element('small', {}, choice.detail ?? ''))
      row.onmousedown = (event) => {
        event.preventDefault()
        accept(view, open, index)
      }
      list.append(row)
      if (isChosen) requestAnimationFrame(() => row.scrollIntoView({ block: 'nearest' }))
    }
    return list
  }

  const withOpen = (run: (view: EditorView, open: NonNullable<Open>) => void) => (view: EditorView) => {
    const open = view.state.field(field)
    if (open) run(view, open)
    return open !== null
  }
  const moved = (by: number) =>
    withOpen((view, open) => {
      const count = open.choices.length
      view.dispatch({ effects: setOpen.of({ ...open, at: (open.at + by + count) % count }) })
    })
  const keys: KeyBinding[] = [
    { key: 'ArrowDown', run: moved(1) },
    { key: 'ArrowUp', run: moved(-1) },
    { key: 'Enter', run: withOpen((view, open) => accept(view, open, open.at)) },
    { key: 'Escape', run: withOpen((view) => view.dispatch({ effects: setOpen.of(null) })) },
    {
      key: 'Ctrl-Space',
      run: (view) => {
        view.dispatch({ effects: setOpen.of(suggest(view.state)) })
        return true
      },
    },
  ]
  const close = EditorView.domEventHandlers({
    blur: (_, view) => void (view.state.field(field) && view.dispatch({ effects: setOpen.of(null) })),
  })
  return [field, close, Prec.highest(keymap.of(keys))]
}

function accept(view: EditorView, { from, to, choices }: NonNullable<Open>, at: number): void {
  const text = choices[at]?.insert ?? ''
  const cursor = text.indexOf('‸')
  const insert = text.replace('‸', '')
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + (cursor < 0 ? insert.length : cursor) },
    effects: setOpen.of(null),
    userEvent: 'input.complete',
  })
}

const attributesOf = (open: Open): Record<string, string> =>
  open
    ? {
        'aria-autocomplete': 'list',
        'aria-controls': 'choices',
        'aria-activedescendant': `choice-${open.at}`,
      }
    : { 'aria-autocomplete': 'list' }

function element(name: string, attributes: Record<string, string>, text = ''): HTMLElement {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.textContent = text
  return made
}

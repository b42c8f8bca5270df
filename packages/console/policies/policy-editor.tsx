import { type ReactNode, useRef, useState } from 'react'
import { CodeEditor, type Remark } from '../editor/code-editor.tsx'
import { Spinner } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { Segments } from '../parts/segments.tsx'
import { documentIn, isBegun, isRego, textOf } from './document.ts'
import { PolicyForm } from './policy-form.tsx'
import { type Checked, useCheck } from './remarks.ts'
import { texts } from './texts.ts'
import { useVocabulary } from './vocabulary.ts'
import { completePolicy } from './words.ts'

const { editor: words } = texts
type View = keyof typeof words.moduleViews

/** A policy as text and as a form: two views of one document. Checks it while the keyboard rests. */
export function PolicyEditor({
  id,
  text,
  isReadOnly = false,
  more = none,
  onChange,
  foot,
}: {
  id: string | null
  text: string
  isReadOnly?: boolean
  /** Remarks beside those of the check. */
  more?: readonly Remark[]
  onChange: (text: string) => void
  foot?: ReactNode
}) {
  const document = documentIn(text)
  const hasModule = isRego(document)
  const [chosen, setView] = useState<View>('module')
  const view = chosen === 'module' && !hasModule ? 'text' : chosen
  const known = useVocabulary()
  const goTo = useRef<(remark: Remark) => void>(() => undefined)
  const { state, remarks } = useCheck(text, id)
  const shown = useStable([
    ...remarks,
    ...more.filter(({ detail }) => !remarks.some((one) => one.detail === detail)),
  ])
  const module = String(document?.module ?? '')
  const moduleRemarks = useStable(inModule(shown, module))
  // A document that is not begun has faults that its author knows of.
  const isNew = document !== null && !isBegun(id, document)
  return (
    <Card>
      <div className="card-bar">
        <Segments
          label={words.view}
          options={(hasModule ? words.moduleViews : words.views) as typeof words.moduleViews}
          value={view}
          onChange={setView}
        />
        {view !== 'form' && !isReadOnly && (
          <span className="muted small editor-hint">{view === 'text' ? words.hint : words.moduleHint}</span>
        )}
        {!isNew && (
          <Status
            state={isReadOnly ? 'valid' : state}
            count={remarks.length}
            onClick={() => {
              const [first] = view === 'module' ? moduleRemarks : remarks
              if (view === 'form' || !first) setView('text')
              if (first) goTo.current(first)
            }}
          />
        )}
      </div>
      {view === 'module' ? (
        <CodeEditor
          key="module"
          language="rego"
          label={words.module}
          text={module}
          onChange={(next) => onChange(textOf({ ...document, module: next }))}
          remarks={moduleRemarks}
          isReadOnly={isReadOnly}
          onReady={(go) => {
            goTo.current = go
          }}
        />
      ) : view === 'text' ? (
        <CodeEditor
          key="text"
          label={words.label}
          text={text}
          onChange={onChange}
          remarks={isNew ? none : shown}
          complete={completePolicy(known)}
          isReadOnly={isReadOnly}
          onReady={(go) => {
            goTo.current = go
          }}
        />
      ) : document ? (
        <PolicyForm
          document={document}
          onChange={(next) => onChange(textOf(next))}
          known={known}
          remarks={shown}
          isReadOnly={isReadOnly}
        />
      ) : (
        <Empty icon="alert" title={words.notJson}>
          {words.formNeedsJson}
        </Empty>
      )}
      {foot}
    </Card>
  )
}

const none: readonly Remark[] = []

/** The remarks about a module, each at the line and column, or at the value, that it names. */
const inModule = (remarks: readonly Remark[], module: string): Remark[] =>
  remarks
    .filter(({ pointer }) => pointer === '/module')
    .map((remark) => {
      const from = placeIn(module, remark.detail)
      const word = /^[\w.]*/.exec(module.slice(from))?.[0].length ?? 0
      return { ...remark, range: { from, to: from + Math.max(word, 1) } }
    })

function placeIn(module: string, detail: string): number {
  const [, line, column] = /^Line (\d+), column (\d+)/.exec(detail) ?? []
  if (line === undefined) return Math.max(0, module.indexOf(/input(\.\w+)+/.exec(detail)?.[0] ?? 'package'))
  const start = module.split('\n', Number(line) - 1).reduce((sum, { length }) => sum + length + 1, 0)
  return Math.min(start + Number(column) - 1, module.length)
}

/** The same list as long as it says the same. */
function useStable(list: readonly Remark[]): readonly Remark[] {
  const kept = useRef(list)
  if (JSON.stringify(kept.current) !== JSON.stringify(list)) kept.current = list
  return kept.current
}

function Status({ state, count, onClick }: { state: Checked; count: number; onClick: () => void }) {
  const bodies: Record<Checked, ReactNode> = {
    checking: (
      <>
        <Spinner /> {words.checking}
      </>
    ),
    valid: (
      <>
        <Icon name="check" size={14} /> {words.checked}
      </>
    ),
    faulty: (
      <button type="button" className="text-button" onClick={onClick}>
        {words.faults(count)}
      </button>
    ),
    unknown: words.unchecked,
  }
  return (
    <span className="check-state" data-state={state} role="status">
      {bodies[state]}
    </span>
  )
}

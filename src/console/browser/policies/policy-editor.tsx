import { type ReactNode, useRef, useState } from 'react'
import { JsonEditor, type Remark } from '../editor/json-editor.tsx'
import { Spinner } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { Segments } from '../parts/segments.tsx'
import { documentIn, newDocument, textOf } from './document.ts'
import { PolicyForm } from './policy-form.tsx'
import { type Checked, useCheck } from './remarks.ts'
import { texts } from './texts.ts'
import { useVocabulary } from './vocabulary.ts'
import { completePolicy } from './words.ts'

const { editor: words } = texts
type View = keyof typeof words.views

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
  const [view, setView] = useState<View>('text')
  const known = useVocabulary()
  const goTo = useRef<(pointer: string) => void>(() => undefined)
  const { state, remarks } = useCheck(text, id)
  const shown = useStable([
    ...remarks,
    ...more.filter(({ detail }) => !remarks.some((one) => one.detail === detail)),
  ])
  const document = documentIn(text)
  // A document that is not begun has faults that its author knows of.
  const isBlank = id === null && text === textOf(newDocument)
  return (
    <Card>
      <div className="card-bar">
        <Segments label={words.view} options={words.views} value={view} onChange={setView} />
        {view === 'text' && !isReadOnly && <span className="muted small editor-hint">{words.hint}</span>}
        {!isBlank && (
          <Status
            state={isReadOnly ? 'valid' : state}
            count={remarks.length}
            onClick={() => {
              setView('text')
              const [first] = remarks
              if (first) goTo.current(first.pointer)
            }}
          />
        )}
      </div>
      {view === 'text' ? (
        <JsonEditor
          label={words.label}
          text={text}
          onChange={onChange}
          remarks={isBlank ? none : shown}
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

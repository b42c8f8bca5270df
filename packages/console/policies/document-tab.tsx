import type { Policy, Problem } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import type { Remark } from '../editor/code-editor.tsx'
import { approvable } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { Fault, Notice } from '../parts/notice.tsx'
import { useMay } from '../session/session.ts'
import { Conflict } from './conflict.tsx'
import { bodyOf, documentIn, documentOf, newDocument, textOf } from './document.ts'
import { useDraft } from './drafts.ts'
import { Examples } from './examples.tsx'
import { PolicyEditor } from './policy-editor.tsx'
import { reloadPolicies } from './queries.ts'
import { remarksOf } from './remarks.ts'
import { texts } from './texts.ts'

const { editor: words } = texts

/** The document of a policy, with what it takes to save a change. `policy` is null for a new one. */
export function DocumentTab({ policy, etag }: { policy: Policy | null; etag: string | null }) {
  const may = useMay()
  const { draft, text, set, save, busy, problem, warnings, dropped, drop, isChanged } = useEditing(
    policy,
    etag,
  )
  const mayWrite = policy ? may('policy:update') && !policy.managed_by : may('policy:create')
  const refused = problem ? remarksOf(problem) : []
  return (
    <>
      {problem?.status === 412 && policy && draft && (
        <Conflict
          policy={policy}
          draft={draft}
          onMine={(etag) => void save('', etag)}
          onTheirs={() => set(null)}
        />
      )}
      {problem && problem.status !== 412 && refused.length === 0 && <Fault problem={problem} />}
      {dropped !== null && !isChanged && (
        <Notice icon="history">
          <div className="line">
            <p>{words.discarded}</p>
            <Button kind="quiet" onClick={() => set(dropped)}>
              {words.undoDiscard}
            </Button>
          </div>
        </Notice>
      )}
      <Warnings warnings={warnings} />
      {!policy && !isChanged && <Examples onChoose={(example) => set(textOf(example))} />}
      <PolicyEditor
        id={policy?.id ?? null}
        text={text}
        isReadOnly={!mayWrite}
        more={[...refused, ...warnings]}
        onChange={set}
        foot={
          mayWrite &&
          isChanged && (
            <SaveBar
              isNew={!policy}
              isSound={documentIn(text) !== null}
              busy={busy}
              onDrop={drop}
              onSave={(reason) => void save(reason)}
            />
          )
        }
      />
    </>
  )
}

function useEditing(policy: Policy | null, etag: string | null) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [draft, setDraft] = useDraft(policy?.id ?? 'new')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [warnings, setWarnings] = useState<readonly Remark[]>([])
  const [dropped, setDropped] = useState<string | null>(null)
  const stored = textOf(policy ? documentOf(policy) : newDocument)
  const text = draft?.text ?? stored
  const set = (next: string | null) => {
    setDropped(null)
    setProblem(null)
    setDraft(next === null || next === stored ? null : { text: next, etag: draft?.etag ?? etag })
  }
  const write = async (reason: string, base: string | null) => {
    const body = { ...bodyOf(documentIn(text) ?? {}), change_reason: reason } as never
    const written = policy
      ? await call('PUT /policies/{id}/', { path: { id: policy.id }, body, ...(base && { ifMatch: base }) })
      : await call('POST /policies/', { body })
    setWarnings((written.warnings ?? []).map(({ pointer, detail }) => ({ pointer, detail, tone: 'warning' })))
    await client.invalidateQueries({ queryKey: ['policies', 'one'] })
    setDraft(null)
    if (!policy) void navigate({ to: '/policies/$id', params: { id: written.id } })
  }
  const save = async (reason: string, base = draft?.etag ?? etag) => {
    setBusy(true)
    setProblem(null)
    try {
      const done = policy ? words.saved(policy.version + 1) : words.created
      await approvable(() => confirmed(() => write(reason, base)), done)
      void reloadPolicies(client)
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setBusy(false)
    }
  }
  const drop = () => {
    set(null)
    setDropped(text)
  }
  return { draft, text, set, save, busy, problem, warnings, dropped, drop, isChanged: draft !== undefined }
}

function Warnings({ warnings }: { warnings: readonly Remark[] }) {
  if (warnings.length === 0) return null
  return (
    <Notice tone="warn" title={words.warnings}>
      <ul className="plain-list">
        {warnings.map(({ pointer, detail }) => (
          <li key={pointer + detail}>{detail}</li>
        ))}
      </ul>
    </Notice>
  )
}

function SaveBar({
  isNew,
  isSound,
  busy,
  onSave,
  onDrop,
}: {
  isNew: boolean
  /** Whether the text is JSON, so that it can be sent. */
  isSound: boolean
  busy: boolean
  onSave: (reason: string) => void
  onDrop: () => void
}) {
  const [reason, setReason] = useState('')
  return (
    <div className="save-bar">
      {isNew ? (
        <span className="grow" />
      ) : (
        <input
          className="input grow"
          aria-label={words.reason}
          placeholder={words.reason}
          maxLength={1000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      )}
      <Button kind="quiet" onClick={onDrop}>
        {words.discard}
      </Button>
      <Button kind="primary" busy={busy} disabled={!isSound} onClick={() => onSave(reason)}>
        {isNew ? words.create : words.save}
      </Button>
    </div>
  )
}

import type { Policy, PolicyPreview } from '@bailiwick/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { approvable } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty, Failed, Ghosts } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { texts as playground } from '../playground/texts.ts'
import { useMay } from '../session/session.ts'
import { EffectBadge } from './badges.tsx'
import { bodyOf, type Document } from './document.ts'
import { reloadPolicies } from './queries.ts'
import { texts } from './texts.ts'

const { preview: words } = playground
const maxShown = 100

/**
 * Which recorded decisions a draft, or a stored policy (`document` null), would change. Begins at once. With `policy`,
 * one in shadow mode, it leads on to enforcing it.
 */
export function Preview({
  id,
  document,
  policy,
}: {
  id: string | null
  document: Document | null
  policy?: Policy
}) {
  const [isPromoting, setPromoting] = useState(false)
  const may = useMay()
  const run = useMutation({
    mutationFn: () => {
      const draft = document ? { draft: bodyOf(document) as never } : {}
      return id
        ? call('POST /policies/{id}/preview/', { path: { id }, body: draft as never })
        : call('POST /policies/preview-draft/', { body: draft as never })
    },
  })
  const { mutate, data, error, isPending } = run
  useEffect(() => mutate(), [mutate])
  return (
    <Card
      title={words.title}
      about={words.about}
      actions={
        <>
          <Button icon="history" busy={isPending} onClick={() => mutate()}>
            {words.again}
          </Button>
          {data?.promotion_token && policy && may('policy:update') && (
            <Button kind="primary" onClick={() => setPromoting(true)}>
              {texts.shadow.promote}
            </Button>
          )}
        </>
      }
    >
      {error ? (
        <Failed problem={asProblem(error)} retry={() => mutate()} />
      ) : data ? (
        <Flips preview={data} />
      ) : (
        <Ghosts rows={3} />
      )}
      {isPromoting && data?.promotion_token && policy && (
        <Promotion policy={policy} preview={data} onClose={() => setPromoting(false)} />
      )}
    </Card>
  )
}

function Promotion({
  policy,
  preview,
  onClose,
}: {
  policy: Policy
  preview: PolicyPreview
  onClose: () => void
}) {
  const { promotion_token, not_replayable: skipped } = preview
  const client = useQueryClient()
  const { shadow } = texts
  const promote = async () => {
    const { id } = policy
    const body = { promotion_token: promotion_token ?? '', accept_unreplayed: skipped > 0 }
    const run = () => call('POST /policies/{id}/promote/', { path: { id }, body })
    await approvable(() => confirmed(run), shadow.promoted)
    await reloadPolicies(client)
  }
  return (
    <FormDialog
      open
      onClose={onClose}
      title={shadow.promoteTitle}
      about={shadow.promoteAbout}
      go={skipped > 0 ? shadow.promoteUnsure : shadow.promote}
      submit={promote}
    >
      {skipped > 0 && <p>{skippedIn(preview)}</p>}
    </FormDialog>
  )
}

const skippedIn = ({ not_replayable: skipped, missing_attributes: missing }: PolicyPreview) =>
  words.skipped(skipped, Object.keys(missing).join(', '))

function Flips({ preview }: { preview: PolicyPreview }) {
  const { evaluated, not_replayable: skipped, withheld, flips } = preview
  const summary = words.summary(flips.length, evaluated)
  const remarks = [
    ...preview.ill_typed_attributes.map(words.illTyped),
    ...Object.entries(preview.ignored_properties).map(([name, count]) => words.ignored(name, count)),
  ]
  return (
    <>
      {flips.length === 0 ? (
        <Empty icon="check" title={words.none}>
          {evaluated === 0 ? words.noneRecorded : summary}
        </Empty>
      ) : (
        <>
          <p className="card-body">{summary}</p>
          <ul className="rows flips">
            {flips.slice(0, maxShown).map((flip) => (
              <li key={flip.decision_id}>
                <span className="flip">
                  <EffectBadge effect={flip.before} words={playground.outcomes} />
                  <Icon name="arrow" size={14} />
                  <EffectBadge effect={flip.after} words={playground.outcomes} />
                </span>
                <span className="what">
                  <bdi>{flip.subject.email ?? flip.subject.id}</bdi>{' '}
                  <code className="muted small">{flip.action}</code>
                </span>
                <Link className="small" to="/decisions/$id" params={{ id: flip.decision_id }}>
                  {words.why}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      {(skipped + withheld + remarks.length > 0 || flips.length > maxShown) && (
        <div className="card-foot">
          {flips.length > maxShown && <span>{words.cut(maxShown)}</span>}
          {remarks.map((sentence) => (
            <span key={sentence}>{sentence}</span>
          ))}
          {skipped > 0 && <span>{skippedIn(preview)}</span>}
          {withheld > 0 && <span>{words.withheld(withheld)}</span>}
        </div>
      )}
    </>
  )
}

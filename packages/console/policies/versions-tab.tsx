import type { Policy, PolicyVersion } from '@bailiwick/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { JsonDiff } from '../editor/json-diff.tsx'
import { approvable } from '../parts/approvable.ts'
import { Badge, Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { Dialog, FormDialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { List } from '../parts/list.tsx'
import { Card } from '../parts/page.tsx'
import { Segments } from '../parts/segments.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session/session.ts'
import { textOf as fieldOf } from '../session/use-submit.ts'
import { documentOf } from './document.ts'
import { reloadPolicies } from './queries.ts'
import { texts } from './texts.ts'

const { versions: words } = texts

/** The versions of a policy: who wrote what, what changed, and the way back. */
export function VersionsTab({ policy }: { policy: Policy }) {
  const { id } = policy
  const may = useMay()
  const client = useQueryClient()
  const [cursor, setCursor] = useState<string | undefined>()
  const [compared, setCompared] = useState<PolicyVersion | null>(null)
  const [restored, setRestored] = useState<PolicyVersion | null>(null)
  const query = useQuery({
    queryKey: ['policies', 'versions', id, policy.version, cursor],
    queryFn: ({ signal }) =>
      call('GET /policies/{id}/versions/', { path: { id }, query: { page_size: 25, cursor }, signal }),
    placeholderData: (before) => before,
  })
  const rollBack = async (version: number, reason: string) => {
    const body = { version, ...(reason && { change_reason: reason }) }
    const run = () => call('POST /policies/{id}/rollback/', { path: { id }, body })
    await approvable(() => confirmed(run), words.rolledBack(version))
    await reloadPolicies(client)
  }
  return (
    <Card>
      <List
        query={query}
        change={(filters) => setCursor(filters.cursor)}
        columns={words.columns}
        row={(one) => (
          <tr>
            <td>
              <span className="line">
                <button type="button" className="row-button" onClick={() => setCompared(one)}>
                  {texts.version(one.version)}
                </button>
                {one.version === policy.version && <Badge tone="accent">{words.current}</Badge>}
              </span>
            </td>
            <td>
              <bdi>{one.author.email ?? words.application}</bdi>
            </td>
            <td className="muted">
              <bdi>{one.reason}</bdi>
            </td>
            <td className="muted">
              <Time at={one.created_at} />
            </td>
            <td className="end">
              <span className="line end-line">
                <Button
                  kind="quiet"
                  icon="eye"
                  aria-label={words.compareOne(one.version)}
                  onClick={() => setCompared(one)}
                />
                {one.version !== policy.version && may('policy:update') && !policy.managed_by && (
                  <Button
                    kind="quiet"
                    icon="history"
                    aria-label={words.rollbackOne(one.version)}
                    onClick={() => setRestored(one)}
                  />
                )}
              </span>
            </td>
          </tr>
        )}
      />
      {compared && (
        <Changes
          version={compared}
          before={query.data?.results.find(({ version }) => version < compared.version) ?? null}
          now={policy}
          onClose={() => setCompared(null)}
        />
      )}
      {restored && (
        <FormDialog
          open
          wide
          onClose={() => setRestored(null)}
          title={words.rollbackTitle(restored.version)}
          about={words.rollbackAbout}
          go={words.rollback}
          submit={(form) => rollBack(restored.version, fieldOf(form, 'reason'))}
        >
          <JsonDiff before={documentOf(policy)} after={documentOf(restored)} />
          <TextField label={texts.editor.reason} name="reason" maxLength={1000} />
        </FormDialog>
      )}
    </Card>
  )
}

function Changes({
  version,
  before,
  now,
  onClose,
}: {
  version: PolicyVersion
  before: PolicyVersion | null
  now: Policy
  onClose: () => void
}) {
  const [span, setSpan] = useState<keyof typeof words.spans>('step')
  const isSince = span === 'since'
  const document = documentOf(version)
  return (
    <Dialog open wide onClose={onClose} title={words.changes(version.version)}>
      <div className="dialog-body">
        {version.version < now.version && (
          <Segments label={words.compare} options={words.spans} value={span} onChange={setSpan} />
        )}
        {!isSince && !before && <p className="muted">{words.first}</p>}
        {isSince ? (
          <JsonDiff before={document} after={documentOf(now)} />
        ) : (
          <JsonDiff before={before ? documentOf(before) : {}} after={document} />
        )}
      </div>
    </Dialog>
  )
}

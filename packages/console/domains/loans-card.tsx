import type { Domain } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { PlainField } from '../parts/field.tsx'
import { List } from '../parts/list.tsx'
import { Card } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { loans: words } = texts

/** The organisations that a domain is lent to. */
export function LoansCard({ domain: { id } }: { domain: Domain }) {
  const { id: own } = useProfile().current_tenant
  const may = useMay()
  const [lending, setLending] = useState(false)
  const [ending, setEnding] = useState<string | null>(null)
  const query = useQuery({
    queryKey: ['domains', own, 'loans', id],
    queryFn: async ({ signal }) => {
      const { results } = await call('GET /domains/{id}/loans/', { path: { id }, signal })
      return { results, next: null, previous: null }
    },
  })
  const lend = (form: FormData) => {
    const body = { tenant: textOf(form, 'tenant').trim() }
    return changed('domains', () => call('POST /domains/{id}/loans/', { path: { id }, body }), words.lent)
  }
  const end = (tenant: string) =>
    changed(
      'domains',
      () => call('DELETE /domains/{id}/loans/{tenant}/', { path: { id, tenant } }),
      words.removed,
    )
  return (
    <Card
      title={words.title}
      about={words.about}
      actions={
        may('domain:update') && (
          <Button icon="plus" onClick={() => setLending(true)}>
            {words.create}
          </Button>
        )
      }
    >
      {query.data?.results.length !== 0 && (
        <List
          query={query}
          columns={words.columns}
          row={({ tenant }) => (
            <tr>
              <td>
                <code>{tenant}</code>
              </td>
              <td className="end">
                {may('domain:update') && (
                  <Button
                    kind="quiet"
                    icon="close"
                    title={words.remove}
                    aria-label={words.endOf(tenant)}
                    onClick={() => setEnding(tenant)}
                  />
                )}
              </td>
            </tr>
          )}
        />
      )}
      {lending && (
        <FormDialog open {...words.lending} onClose={() => setLending(false)} go={words.create} submit={lend}>
          <PlainField label={words.tenant} hint={words.tenantHint} name="tenant" className="mono" autoFocus />
        </FormDialog>
      )}
      {ending && (
        <Removal texts={words} name={ending} remove={() => end(ending)} onClose={() => setEnding(null)} />
      )}
    </Card>
  )
}

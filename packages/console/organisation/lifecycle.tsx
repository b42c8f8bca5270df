import type { Tenant } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { faultOf } from '../api/problem.ts'
import { approvable } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { Card } from '../parts/page.tsx'
import { signOut, useProfile } from '../session/session.ts'
import { useSwitch } from '../session/switch-organisation.tsx'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { life: words } = texts

type Step = 'activate' | 'suspend' | 'archive' | 'delete'

/** The steps that each status allows. */
const steps: Record<Tenant['status'], Step[]> = {
  active: ['suspend', 'archive', 'delete'],
  suspended: ['activate', 'archive', 'delete'],
  archived: ['activate', 'delete'],
}

/** How an organisation is closed and opened again: what each step does, then its button. */
export function Lifecycle({ tenant }: { tenant: Tenant }) {
  const client = useQueryClient()
  const { memberships } = useProfile()
  const { switchTo, dialog } = useSwitch()
  const [asked, setAsked] = useState<Step | null>(null)
  const path = { id: tenant.id }

  const leave = async () => {
    const other = memberships.find(
      ({ tenant: { id, status }, status: own }) =>
        id !== tenant.id && status === 'active' && own === 'active',
    )
    await (other ? switchTo(other.tenant) : signOut(client))
  }
  const runs: Record<Step, () => Promise<unknown>> = {
    activate: () => call('POST /tenants/{id}/activate/', { path }),
    suspend: () => call('POST /tenants/{id}/suspend/', { path }),
    archive: () => call('POST /tenants/{id}/archive/', { path }),
    delete: () => call('DELETE /tenants/{id}/', { path }),
  }
  const submit = async (step: Step, form: FormData) => {
    if (step === 'delete' && textOf(form, 'again').trim() !== tenant.name)
      throw faultOf('again', words.wrong(tenant.name))
    const done = step === 'delete' ? words.delete.done(tenant.name) : words[step].done
    const acted = await approvable(() => confirmed(runs[step]), done)
    if (!acted) return
    if (step === 'delete') return leave()
    await client.invalidateQueries()
  }
  return (
    <Card title={words.title} about={words.about} danger>
      <ul className="rows rows-below">
        {steps[tenant.status].map((step) => (
          <li key={step}>
            <div className="what">
              <p>{words[step].title}</p>
              <p className="muted small">{words[step].about}</p>
            </div>
            <Button kind={step === 'activate' ? undefined : 'danger-quiet'} onClick={() => setAsked(step)}>
              {words[step].go}
            </Button>
          </li>
        ))}
      </ul>
      {asked && (
        <FormDialog
          open
          danger={asked !== 'activate'}
          onClose={() => setAsked(null)}
          title={words[asked].ask(tenant.name)}
          about={words[asked].about}
          go={words[asked].go}
          submit={(form) => submit(asked, form)}
        >
          {asked === 'delete' && (
            <TextField
              label={words.type}
              hint={<bdi>{tenant.name}</bdi>}
              name="again"
              autoComplete="off"
              autoFocus
            />
          )}
        </FormDialog>
      )}
      {dialog}
    </Card>
  )
}

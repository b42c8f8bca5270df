import type { ServiceAccount } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { changedPlace } from '../members/changed-place.ts'
import { DepartmentField } from '../members/department-field.tsx'
import { useRoles } from '../members/queries.ts'
import { RoleChoice } from '../members/role-choice.tsx'
import { approvable } from '../parts/approvable.ts'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { NameFields } from '../parts/name-fields.tsx'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { form: words } = texts
/** What the service gives a new account that names no others. */
const fresh = { roles: ['member'], department_id: null }

/** A service account as it was read, with its version. */
export interface Opened {
  body: ServiceAccount
  etag: string | null
}

/** Makes a service account, or changes `account`. `onCreated` gets the new one. */
export function AccountForm({
  account,
  onClose,
  onCreated,
}: {
  account?: Opened
  onClose: () => void
  onCreated?: (account: ServiceAccount) => void
}) {
  const client = useQueryClient()
  // The page can read the account anew while the form is open.
  const [opened] = useState(account)
  const known = opened?.body
  const roles = useRoles().data?.results.filter(({ name }) => name !== 'owner') ?? []
  const submit = async (form: FormData) => {
    const [name, description] = [textOf(form, 'name'), textOf(form, 'description')]
    const place = changedPlace(form, roles, known ?? fresh)
    let created: ServiceAccount | null = null
    const save = async () => {
      if (!opened || !known) {
        created = await call('POST /service-accounts/', { body: { name, description, ...place } })
        return
      }
      const path = { id: known.id }
      const body = {
        ...(name !== known.name && { name }),
        ...(description !== known.description && { description }),
        ...place,
      }
      await ifUnchanged('GET /service-accounts/{id}/', path, opened, (unchanged) =>
        call('PATCH /service-accounts/{id}/', { path, body, ...unchanged }),
      )
    }
    try {
      await approvable(() => confirmed(save), known ? texts.changed : texts.created)
    } finally {
      await client.invalidateQueries({ queryKey: ['accounts'] })
    }
    if (created) onCreated?.(created)
  }
  return (
    <FormDialog
      open
      onClose={onClose}
      title={known ? words.edit : words.create}
      go={known ? words.editGo : words.createGo}
      submit={submit}
    >
      <NameFields words={words} known={known} maxName={120} />
      <RoleChoice label={words.roles} roles={roles} chosen={(known ?? fresh).roles} />
      <DepartmentField {...(known && { known: known.department_id })} />
    </FormDialog>
  )
}

import type { ServiceAccount } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { changedPlace } from '../members/changed-place.ts'
import { DepartmentField } from '../members/department-field.tsx'
import { useRoles } from '../members/queries.ts'
import { RoleChoice } from '../members/role-choice.tsx'
import { EditDialog } from '../parts/edit-dialog.tsx'
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
  // The page can read the account anew while the form is open.
  const [opened] = useState(account)
  const known = opened?.body
  const roles = useRoles().data?.results.filter(({ name }) => name !== 'owner') ?? []
  const save = async (form: FormData) => {
    const [name, description] = [textOf(form, 'name'), textOf(form, 'description')]
    const place = changedPlace(form, roles, known ?? fresh)
    if (!opened || !known) return call('POST /service-accounts/', { body: { name, description, ...place } })
    const path = { id: known.id }
    const body = {
      ...(name !== known.name && { name }),
      ...(description !== known.description && { description }),
      ...place,
    }
    return ifUnchanged('GET /service-accounts/{id}/', path, opened, (unchanged) =>
      call('PATCH /service-accounts/{id}/', { path, body, ...unchanged }),
    )
  }
  return (
    <EditDialog
      name="accounts"
      done={texts}
      {...{ words, known, save, onClose }}
      onSaved={(saved) => !known && onCreated?.(saved)}
    >
      <NameFields words={words} known={known} maxName={120} />
      <RoleChoice label={words.roles} roles={roles} chosen={(known ?? fresh).roles} />
      <DepartmentField {...(known && { known: known.department_id })} />
    </EditDialog>
  )
}

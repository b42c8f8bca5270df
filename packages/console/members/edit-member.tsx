import type { Member, Role } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { faultOf } from '../api/problem.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { PlainField } from '../parts/field.tsx'
import { Ghosts } from '../parts/notice.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { changedPlace } from './changed-place.ts'
import { DepartmentField } from './department-field.tsx'
import { nameOfMember } from './name-of-member.ts'
import { PersonField } from './person-field.tsx'
import { RoleChoice } from './role-choice.tsx'
import { texts } from './texts.ts'

const { editing: words } = texts

interface Asked {
  member: Member
  roles: Role[]
  onClose: () => void
  /** Makes the change, and says that it was made. */
  change: (run: () => Promise<unknown>, done: string) => Promise<void>
}

/** Changes the roles, department and manager of a member, and what applications call them. */
export function EditMember(asked: Asked) {
  const { id: tenant } = useProfile().current_tenant
  const { manager_id: id } = asked.member
  const manager = useQuery({
    queryKey: ['members', tenant, 'manager', id],
    queryFn: async ({ signal }) => {
      const query = { user_id: id ?? '', page_size: 1 }
      const { results } = await call('GET /tenants/{id}/members/', { path: { id: tenant }, query, signal })
      return results[0]?.email ?? ''
    },
    enabled: id !== null,
  })
  if (manager.isLoading)
    return (
      <FormDialog
        open
        onClose={asked.onClose}
        title={words.title}
        go={words.go}
        submit={async () => undefined}
      >
        <Ghosts />
      </FormDialog>
    )
  return <Form {...asked} managerBefore={manager.data ?? ''} />
}

function Form({ member: opened, roles, onClose, change, managerBefore }: Asked & { managerBefore: string }) {
  const { id } = useProfile().current_tenant
  const mayName = useMay()('policy:update')
  // The list can be read anew while the form is open.
  const [member] = useState(opened)
  const [manager, setManager] = useState(managerBefore)
  const path = { id, mid: member.id }
  const submit = async (form: FormData) => {
    const body = {
      ...changedPlace(form, roles, member),
      ...(manager !== managerBefore && { manager_id: await findPerson(id, manager) }),
      ...(mayName && { external_id: textOf(form, 'external_id') || null }),
    }
    const save = (unchanged: { ifMatch?: string }) =>
      call('PATCH /tenants/{id}/members/{mid}/', { path, body, ...unchanged })
    return change(() => ifUnchanged('GET /tenants/{id}/members/{mid}/', path, member, save), words.done)
  }
  return (
    <FormDialog
      open
      onClose={onClose}
      title={words.title}
      about={<bdi>{nameOfMember(member)}</bdi>}
      go={words.go}
      submit={submit}
    >
      <RoleChoice label={words.roles} roles={roles} chosen={member.roles} />
      <DepartmentField known={member.department_id} />
      <PersonField
        name="manager_id"
        label={words.manager}
        hint={words.managerHint}
        value={manager}
        onText={setManager}
      />
      <PlainField
        label={words.externalId}
        hint={words.externalIdHint}
        name="external_id"
        maxLength={128}
        defaultValue={member.external_id ?? ''}
        disabled={!mayName}
      />
    </FormDialog>
  )
}

/** The user id of the member with an address; null for an empty text. Throws a {@link Problem} about `manager_id`. */
async function findPerson(tenant: string, text: string): Promise<string | null> {
  const email = text.trim().toLowerCase()
  if (email === '') return null
  const query = { search: email, kind: 'user', page_size: 100 } as const
  const { results } = await call('GET /tenants/{id}/members/', { path: { id: tenant }, query })
  const found = results.find((one) => one.email?.toLowerCase() === email)?.user_id
  if (found) return found
  throw faultOf('manager_id', words.noManager)
}

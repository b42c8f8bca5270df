import { useQuery } from '@tanstack/react-query'
import type { ComponentProps } from 'react'
import { call } from '../api/client.ts'
import { useDepartments, useRoles } from '../members/queries.ts'
import { TextField } from '../parts/field.tsx'
import { useMay, useProfile } from '../session/session.ts'

interface Named {
  id: string
  name: string
}

/** The objects of a type, with their names, as far as this page knows the type. */
function useObjects(type: string): readonly Named[] {
  const may = useMay()
  const { id: tenant } = useProfile().current_tenant
  const roles = useRoles().data?.results ?? []
  const departments = useDepartments().data?.results ?? []
  const policies = useQuery({
    queryKey: ['policies', tenant, 'names'],
    queryFn: ({ signal }) => call('GET /policies/', { query: { page_size: 100, ordering: 'name' }, signal }),
    enabled: type === 'policy' && may('policy:list'),
  })
  const members = useQuery({
    queryKey: ['members', tenant, 'names'],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/members/', { path: { id: tenant }, query: { page_size: 100 }, signal }),
    enabled: type === 'member' && may('member:list'),
  })
  const known: Record<string, readonly Named[]> = {
    role: roles,
    department: departments,
    policy: policies.data?.results ?? [],
    member: (members.data?.results ?? []).map(({ id, email }) => ({ id, name: email ?? id })),
  }
  return known[type] ?? []
}

/** A field for the id of an object, which suggests those of its type by name. */
export function ObjectField({
  type,
  value,
  onText,
  ...rest
}: Omit<ComponentProps<typeof TextField>, 'onChange' | 'value' | 'type'> & {
  type: string
  value: string
  onText: (text: string) => void
}) {
  const objects = useObjects(type)
  return (
    <>
      <TextField
        {...rest}
        list="suggested-objects"
        autoComplete="off"
        value={value}
        onChange={(event) => onText(event.target.value)}
      />
      <datalist id="suggested-objects">
        {objects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  )
}

import { useQuery } from '@tanstack/react-query'
import type { ComponentProps } from 'react'
import { call } from '../api/client.ts'
import { TextField } from '../parts/field.tsx'
import { useRested } from '../policies/remarks.ts'
import { useMay, useProfile } from '../session/session.ts'
import { nameOfMember } from './name-of-member.ts'

/** A field for a person, which suggests members by name and address. */
export function PersonField({
  value,
  onText,
  ...rest
}: Omit<ComponentProps<typeof TextField>, 'onChange' | 'value'> & {
  value: string
  onText: (text: string) => void
}) {
  const { id } = useProfile().current_tenant
  const search = useRested(value.trim(), 300)
  const { data } = useQuery({
    queryKey: ['members', id, 'suggested', search],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/members/', { path: { id }, query: { page_size: 8, search }, signal }),
    enabled: useMay()('member:list') && search.length > 1,
    placeholderData: (before) => before,
  })
  return (
    <>
      <TextField
        {...rest}
        list="suggested-people"
        autoComplete="off"
        maxLength={254}
        value={value}
        onChange={(event) => onText(event.target.value)}
      />
      <datalist id="suggested-people">
        {data?.results.map(
          (member) =>
            member.email && (
              <option key={member.id} value={member.email}>
                {nameOfMember(member)}
              </option>
            ),
        )}
      </datalist>
    </>
  )
}

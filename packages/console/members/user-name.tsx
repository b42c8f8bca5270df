import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { useMay, useProfile } from '../session/session.ts'
import { nameOfMember } from './name-of-member.ts'

/** The name of a person by id, while they are a member; else the end of the id. */
export function UserName({ id }: { id: string }) {
  const { id: tenant } = useProfile().current_tenant
  const { data } = useQuery({
    queryKey: ['members', tenant, 'user', id],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/members/', {
        path: { id: tenant },
        query: { user_id: id, page_size: 1 },
        signal,
      }),
    enabled: useMay()('member:list'),
    staleTime: 300_000,
  })
  const member = data?.results[0]
  return member ? <bdi>{nameOfMember(member)}</bdi> : <code title={id}>{id.slice(-12)}</code>
}

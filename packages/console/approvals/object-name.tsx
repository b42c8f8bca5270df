import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { nameOfMember } from '../members/name-of-member.ts'
import { useProfile } from '../session/session.ts'

type ReadName = (tenant: string, id: string) => Promise<string>

/** How the names of objects are read, by type. */
const names: Record<string, ReadName> = {
  user: async (_, id) => (await call('GET /users/{id}/', { path: { id } })).email,
  member: async (id, mid) =>
    nameOfMember(await call('GET /tenants/{id}/members/{mid}/', { path: { id, mid } })),
  service_account: async (_, id) => (await call('GET /service-accounts/{id}/', { path: { id } })).name,
  oauth_client: async (_, id) => (await call('GET /oauth-clients/{id}/', { path: { id } })).name,
  role: async (id, rid) => (await call('GET /tenants/{id}/roles/{rid}/', { path: { id, rid } })).name,
  department: async (id, did) =>
    (await call('GET /tenants/{id}/departments/{did}/', { path: { id, did } })).name,
  policy: async (_, id) => (await call('GET /policies/{id}/', { path: { id } })).name,
}

/** An object of the service: its name while it exists, and its id; `short` shows one of them. */
export function ObjectName({ type, id, short }: { type: string; id: string | null; short?: boolean }) {
  const { id: tenant } = useProfile().current_tenant
  const read = names[type]
  const { data } = useQuery({
    queryKey: ['name', type, id],
    queryFn: () => read!(tenant, id!),
    enabled: read !== undefined && id !== null,
  })
  if (short) return <bdi>{data ?? id}</bdi>
  return (
    <>
      {type.replaceAll('_', ' ')}{' '}
      {data && (
        <strong>
          <bdi>{data}</bdi>
        </strong>
      )}{' '}
      {id && <code className="muted">{id}</code>}
    </>
  )
}

import { useQuery } from '@tanstack/react-query'
import type { ApprovalRequest } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { nameOfMember } from '../members/name-of-member.ts'
import { useProfile } from '../session/session.ts'

type ReadName = (tenant: string, id: string) => Promise<string>

/** The names of objects that a change can be about. */
const names: Record<string, ReadName> = {
  member: async (id, mid) =>
    nameOfMember(await call('GET /tenants/{id}/members/{mid}/', { path: { id, mid } })),
  service_account: async (_, id) => (await call('GET /service-accounts/{id}/', { path: { id } })).name,
  role: async (id, rid) => (await call('GET /tenants/{id}/roles/{rid}/', { path: { id, rid } })).name,
  department: async (id, did) =>
    (await call('GET /tenants/{id}/departments/{did}/', { path: { id, did } })).name,
  policy: async (_, id) => (await call('GET /policies/{id}/', { path: { id } })).name,
}

/** What a change is about: the name of the object while it exists, and its id. */
export function ObjectName({ request }: { request: ApprovalRequest }) {
  const { id: tenant } = useProfile().current_tenant
  const { resource_type: type, resource_id: id } = request
  const read = names[type]
  const { data } = useQuery({
    queryKey: ['name', type, id],
    queryFn: () => read!(tenant, id!),
    enabled: read !== undefined && id !== null,
    retry: false,
  })
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

import { query } from '../helpers/query.ts'
import type { Client, Service } from '../helpers/service.ts'
import type { Provider } from './provider.ts'

/** An active connection of a tenant to a provider, as if its owner had tried it; gives its id. */
export async function activeConnection(
  { databases }: Pick<Service, 'databases'>,
  owner: Client,
  { issuer, clientId: client_id, clientSecret: client_secret }: Provider,
  more: object = {},
): Promise<string> {
  const at = '/api/v1/connections/'
  const oidc = { issuer, client_id, client_secret }
  const { body } = await owner.post(at, { name: 'Nordwind', kind: 'oidc', oidc, ...more })
  await query(
    databases.superuser,
    `update connections set tested_by = '${owner.id}', tested_at = now() where id = '${body.id}'`,
  )
  const activated = await owner.patch(`${at}${body.id}/`, { status: 'active' })
  if (activated.status !== 200) throw new Error(JSON.stringify(activated.body))
  return body.id
}

/** A domain of a tenant, as if its record were in the DNS. */
export const verifiedDomain = (
  { databases }: Pick<Service, 'databases'>,
  owner: Client,
  name: string,
  lentTo: readonly string[] = [],
  { route = 'always', subdomains = false } = {},
): Promise<unknown> =>
  query(
    databases.superuser,
    `insert into domains (tenant_id, id, domain, status, record_value, route, subdomains, lent_to, verified_at, asked_at,
       created_by, created_at, updated_at)
     values ('${owner.tenantId}', gen_random_uuid(), '${name}', 'verified', '', '${route}', ${subdomains},
       '{${lentTo.join()}}', now(), now(), '${owner.id}', now(), now())`,
  )

import { z } from 'zod'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { clientIdOf } from '../clients/client-id.ts'
import { clientKinds } from '../clients/store.ts'
import type { GrantRow, Names } from './store.ts'

/** What a person let an application do, as the person sees it. */
export const authorizationSchema = z
  .object({
    id: z.uuid(),
    client: z
      .object({
        id: z.string(),
        name: z.string(),
        kind: z.enum(clientKinds).nullable(),
        first_party: z.boolean(),
      })
      .meta({ description: 'Its name is empty and its kind null after it was deleted' }),
    tenant: z.object({ id: z.uuid(), slug: z.string(), name: z.string() }),
    scopes: z.array(z.string()),
    created_at: timestamp,
    last_used_at: timestamp.meta({ description: 'When the application last got a code or token' }),
  })
  .meta({ id: 'Authorization' })

/** The same as the owners of a tenant see it. */
export const grantSchema = authorizationSchema
  .extend({
    user: z.object({
      id: z.uuid(),
      email: z.string().nullable().meta({ description: 'null for a person who has left the tenant' }),
    }),
  })
  .meta({ id: 'OAuthGrant' })

export type NamedGrant = GrantRow & { names: Names }

export function showAuthorization({ names, ...row }: NamedGrant) {
  const { tenant_id: tenantId, client_id: id } = row
  const client = names.clients.find((one) => one.id === id)
  const tenant = names.tenants.find((one) => one.id === tenantId)
  return {
    id: row.id,
    client: {
      id: clientIdOf({ tenantId, id }),
      name: client?.name ?? '',
      kind: client?.kind ?? null,
      first_party: client?.first_party ?? false,
    },
    tenant: { id: tenantId, slug: tenant?.slug ?? '', name: tenant?.name ?? '' },
    scopes: [...new Set(row.scope.split(' ').filter(Boolean))],
    created_at: rfc3339(row.created_at),
    last_used_at: rfc3339(row.last_used_at),
  }
}

export const showGrant = (row: NamedGrant) => ({
  ...showAuthorization(row),
  user: {
    id: row.user_id,
    email: row.names.members.find((one) => one.user_id === row.user_id)?.email ?? null,
  },
})

import { z } from 'zod'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import type { Config } from '../../settings/config.ts'
import type { ListedIdentity } from './list-store.ts'

/** What a person signs in with at another provider, as they see it. */
export const identitySchema = z
  .object({
    id: z.uuid(),
    provider: z
      .object({
        id: z.string().meta({ description: 'The id of a provider of the installation, or of a connection' }),
        name: z.string().nullable(),
        kind: z.enum(['google', 'github', 'microsoft', 'apple', 'oidc', 'saml']).nullable(),
      })
      .meta({
        description:
          'Without name and kind if the installation has it no more, or it is a connection of another tenant',
      }),
    email: z.string().nullable().meta({
      description: 'The address there, at the last sign-in; it can differ from that of the account',
    }),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'Identity' })

export type Providers = Config['SOCIAL_PROVIDERS']

/** The provider of an identity, as people know it. */
export function providerOf(providers: Providers, row: Pick<ListedIdentity, 'provider' | 'name' | 'kind'>) {
  const { id, name, kind } = providers.find((one) => one.id === row.provider) ?? { ...row, id: row.provider }
  return { id, name, kind }
}

export const toJsonIdentity = (
  { id, email, created_at, last_used_at, ...row }: ListedIdentity,
  providers: Providers,
) => ({
  id,
  provider: providerOf(providers, row),
  email,
  created_at: rfc3339(created_at),
  last_used_at: last_used_at === null ? null : rfc3339(last_used_at),
})

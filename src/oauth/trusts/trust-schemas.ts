import { z } from 'zod'
import { repeatedPassword } from '../../identity/otp/bodies.ts'
import { written } from '../../request/body/known-members.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { scopesOfMachine } from '../clients/client-schemas.ts'
import { fingerprintsOf, publicKeys } from '../clients/public-keys.ts'
import { namesSubject } from './match-claims.ts'
import type { TrustRow } from './store.ts'

const pattern = z
  .string('Give the pattern as text.')
  .min(1, 'Give the value that the claim has.')
  .max(500, 'A pattern can have at most 500 characters.')
  .refine((text) => (text.match(/\*/g)?.length ?? 0) <= 5, 'A pattern can have at most 5 times *.')
  .refine((text) => !text.includes('**'), 'One * stands for one segment: ** is not known.')

const claims = z
  .record(z.string().max(100), pattern, 'Give claims as an object of names and patterns.')
  .refine((given) => 'sub' in given, { path: ['sub'], message: 'Say which sub the workload has.' })
  .refine(({ sub }) => sub === undefined || namesSubject(sub), {
    path: ['sub'],
    message: 'Write the first two segments of sub out: its issuer may sign for others, too.',
  })
  .refine((given) => Object.keys(given).length <= 10, 'Name at most 10 claims.')
  .meta({
    description:
      'What the JWT has to say. Values are compared whole; `*` stands for one segment between `:` or `/`. `sub` is required',
    example: { sub: 'repo:acme/shop:ref:refs/heads/main' },
    override: {
      type: 'object',
      additionalProperties: { type: 'string', minLength: 1, maxLength: 500 },
      required: ['sub'],
      maxProperties: 10,
    },
  })

export const trustSchema = z
  .object({
    id: z.uuid(),
    issuer: z.string(),
    audience: z.string(),
    claims: z.record(z.string(), z.string()),
    scopes: z.array(z.string()),
    jwks: z.object({ keys: z.array(z.record(z.string(), z.string())) }).nullable(),
    expires_at: timestamp.nullable(),
    created_by: z.uuid(),
    created_at: timestamp,
    last_used_at: timestamp.nullable().meta({ description: 'To the minute' }),
  })
  .meta({ id: 'Trust' })

export const newTrust = written(
  z.object({
    issuer: z
      .url({ protocol: /^https?$/, error: 'Give the issuer as an https URL: the iss of its tokens.' })
      .max(500, 'An issuer can have at most 500 characters.')
      .refine((text) => !/[?#]/.test(text), 'An issuer has no query and no fragment.')
      .meta({ example: 'https://token.actions.githubusercontent.com' }),
    audience: z
      .string('Give the audience as text.')
      .max(500, 'An audience can have at most 500 characters.')
      .optional()
      .meta({
        description:
          'The `aud` of the JWT: the issuer of this service, which is the default, or a URL below it',
      }),
    claims,
    scopes: scopesOfMachine,
    jwks: publicKeys.nullable().default(null).meta({
      description:
        'The keys of an issuer that cannot be reached; null: they are read by its discovery document',
    }),
    expires_at: timestamp
      .transform((text) => Date.parse(text))
      .nullable()
      .default(null)
      .meta({ description: 'When the trust ends; null: it is deleted by hand' }),
    current_password: repeatedPassword,
  }),
  { shownAs: trustSchema },
)
export type NewTrust = z.output<typeof newTrust>

export const showTrust = ({ trust, ...row }: TrustRow) => ({
  id: row.id,
  ...trust,
  scopes: row.scopes,
  expires_at: row.trust_ends_at === null ? null : rfc3339(row.trust_ends_at),
  created_by: row.created_by,
  created_at: rfc3339(row.created_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
})

/** What the audit log records of a trust. */
export const auditedTrust = ({
  trust,
  ...row
}: Pick<TrustRow, 'trust' | 'scopes' | 'trust_ends_at' | 'service_account_id'>) => ({
  kind: 'machine',
  service_account_id: row.service_account_id,
  issuer: trust.issuer,
  audience: trust.audience,
  claims: trust.claims,
  public_keys: trust.jwks && fingerprintsOf(trust.jwks.keys),
  scopes: row.scopes,
  expires_at: row.trust_ends_at === null ? null : rfc3339(row.trust_ends_at),
})

/** A trust as a resource in policies: a client without a secret. */
export const trustResource = (row: TrustRow) => ({
  type: 'oauth_client',
  id: row.id,
  fields: { ...showTrust(row), kind: 'machine', service_account_id: row.service_account_id },
})

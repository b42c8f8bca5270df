import { z } from 'zod'
import type { Deps } from '../../../deps.ts'
import { rfc3339, timestamp } from '../../../request/body/schemas.ts'
import { openClaims, outcomes, type SignInRow } from './store.ts'

export const signInSchema = z
  .object({
    id: z.uuid(),
    at: timestamp,
    outcome: z.enum(outcomes).meta({
      description: '`joined`: and became a member. A second factor can still be due after `signed_in`',
    }),
    code: z.string().nullable().meta({
      description:
        'Of a refusal: `provider_denied`, `provider_unreachable`, `provider_refused`, `provider_undated`, or an error of the sign-in',
    }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'Why it was refused, as a sentence for an administrator' }),
    user_id: z.uuid().nullable(),
    claims: z.record(z.string(), z.unknown()).nullable().meta({
      description:
        '`subject_attribute`, the claims of `mapping`, `email`, `iss` and `aud`, as the provider said them; null: its answer does not hold',
    }),
  })
  .meta({ id: 'ConnectionSignIn' })

export const showSignIn =
  ({ sealer }: Pick<Deps, 'sealer'>) =>
  (row: SignInRow) => ({
    id: row.id,
    at: rfc3339(row.at),
    outcome: row.outcome,
    code: row.code,
    reason: row.reason,
    user_id: row.user_id,
    claims: openClaims(sealer, row),
  })

import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { openToken, sealToken } from '../../platform/crypto/sealed-token.ts'
import { invalidField, invalidState } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { planChange } from './change-policy.ts'
import { changeReason } from './policy-body.ts'
import type { PolicyTarget } from './read-policy.ts'
import type { PolicyRow } from './store.ts'
import type { Plan } from './write-policy.ts'

export const promotion = z.object({
  promotion_token: z
    .string('Give the promotion_token as text.')
    .min(1, 'Give the promotion_token of a preview.')
    .max(1_000, 'This is not a promotion token.'),
  change_reason: changeReason,
})

const validForMs = 3_600_000

type Promoter = Pick<Caller, 'tenantId' | 'userId'>

/**
 * The token of a preview of a policy in shadow mode, with which its reader can enforce exactly what they saw: this version
 * together with the policies of this revision, within an hour. Null for a policy that is enforced.
 */
export function promotionToken(
  { sealer, clock }: Pick<Deps, 'sealer' | 'clock'>,
  caller: Promoter,
  row: PolicyRow,
  revision: number,
): string | null {
  if (row.mode !== 'shadow') return null
  const text = JSON.stringify([row.version, revision, clock() + validForMs])
  return sealToken(sealer, 'promotion', text, contextOf(caller, row.id))
}

/**
 * Plans the next version of a policy in shadow mode, enforced. 409 `invalid_state` for an enforced policy; 400 for a token
 * of another policy or person, or of a preview that shows what was before a change.
 */
export function planPromotion(
  deps: Deps,
  caller: Caller,
  target: PolicyTarget,
  asked: { body: z.output<typeof promotion>; text: () => string },
): Promise<Plan> {
  const { row, schema } = target
  if (row.mode !== 'shadow') throw invalidState('This policy is enforced already.', 'enforce')
  const { promotion_token: token, change_reason } = asked.body
  const [version, revision, until] = opened(deps, caller, row.id, token)
  if (version !== row.version || revision !== schema.revision || deps.clock() >= until) throw outdated()
  return planChange(deps, caller, target, {
    body: { mode: 'enforce', change_reason: change_reason || 'Promoted from shadow mode' },
    ifMatch: null,
    text: asked.text,
  })
}

function opened(
  { sealer }: Deps,
  caller: Promoter,
  policyId: string,
  token: string,
): [number, number, number] {
  try {
    return openToken(sealer, 'promotion', token, contextOf(caller, policyId))
  } catch {
    throw invalidField(
      'promotion_token',
      'This token is of another policy or person. Preview the policy first.',
    )
  }
}

const outdated = () =>
  invalidField(
    'promotion_token',
    'The policies have changed since this preview, or it is older than an hour. Preview the policy again.',
    'outdated',
  )

const contextOf = ({ tenantId, userId }: Promoter, policyId: string) =>
  JSON.stringify([tenantId, userId, policyId])

import { z } from 'zod'
import { openToken, sealToken } from '../../../crypto/sealed-token.ts'
import type { Deps } from '../../../deps.ts'
import { invalidField, invalidState } from '../../../errors.ts'
import type { Caller } from '../../../request/caller.ts'
import { planChange } from '../change-policy.ts'
import { changeReason } from '../policy-body.ts'
import type { PolicyTarget } from '../read-policy.ts'
import type { PolicyRow } from '../store.ts'
import type { Plan } from '../write-policy.ts'

export const promotion = z.object({
  promotion_token: z
    .string('Give the promotion_token as text.')
    .min(1, 'Give the promotion_token of a preview.')
    .max(4_000, 'This is not a promotion token.'),
  accept_unreplayed: z
    .boolean('Give accept_unreplayed as true or false.')
    .default(false)
    .meta({ description: 'Needed where `not_replayable` of the preview is not 0' }),
  change_reason: changeReason,
})

const validForMs = 3_600_000

type Promoter = Pick<Caller, 'tenantId' | 'userId'>

/** Recorded decisions that could not be decided again, and how many of them lack each attribute. */
export interface Unreplayed {
  not_replayable: number
  missing_attributes: Readonly<Record<string, number>>
}

// So many fit into a token.
const maxNamed = 20

/**
 * The token of a preview of a policy in shadow mode, with which its reader can enforce exactly what they saw: this version
 * together with the policies of this revision, within an hour. It says what the preview could not decide. Null for a policy
 * that is enforced.
 */
export function promotionToken(
  { sealer, clock }: Pick<Deps, 'sealer' | 'clock'>,
  caller: Promoter,
  row: PolicyRow,
  revision: number,
  { not_replayable, missing_attributes }: Unreplayed,
): string | null {
  if (row.mode !== 'shadow') return null
  const most = Object.entries(missing_attributes).toSorted(([, one], [, other]) => other - one)
  const named = Object.fromEntries(most.slice(0, maxNamed))
  const unreplayed: Unreplayed = { not_replayable, missing_attributes: named }
  const text = JSON.stringify([row.version, revision, clock() + validForMs, unreplayed])
  return sealToken(sealer, 'promotion', text, contextOf(caller, row.id))
}

/**
 * Plans the next version of a policy in shadow mode, enforced. 409 `invalid_state` for an enforced policy, and for a preview
 * that could not decide everything, unless that is accepted; 400 for a token of another policy or person, or of a preview
 * that shows what was before a change.
 */
export function planPromotion(
  deps: Deps,
  caller: Caller,
  target: PolicyTarget,
  asked: { body: z.output<typeof promotion>; text: () => string },
): Promise<Plan> {
  const { row, schema } = target
  if (row.mode !== 'shadow') throw invalidState('This policy is enforced already.', 'enforce')
  const { promotion_token: token, change_reason, accept_unreplayed } = asked.body
  const [version, revision, until, unreplayed] = opened(deps, caller, row.id, token)
  const isCurrent = version === row.version && revision === schema.revision && deps.clock() < until
  // A token of the release before says nothing about what was not decided.
  if (!isCurrent || !unreplayed) throw outdated()
  if (unreplayed.not_replayable > 0 && !accept_unreplayed) throw notAllReplayed(unreplayed)
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
): [version: number, revision: number, until: number, unreplayed?: Unreplayed] {
  try {
    return openToken(sealer, 'promotion', token, contextOf(caller, policyId))
  } catch {
    throw invalidField(
      'promotion_token',
      'This token is of another policy or person. Preview the policy first.',
    )
  }
}

function notAllReplayed(unreplayed: Unreplayed) {
  const { not_replayable: count, missing_attributes } = unreplayed
  const names = Object.keys(missing_attributes).join(', ')
  const cause = names ? `they were recorded without ${names}` : 'what they were about was not recorded'
  const decisions = count === 1 ? '1 decision' : `${count} decisions`
  return invalidState(
    `The preview could not decide ${decisions} again: ${cause}. To enforce the policy all the same, send accept_unreplayed: true.`,
    'shadow',
    { ...unreplayed },
  )
}

const outdated = () =>
  invalidField(
    'promotion_token',
    'The policies have changed since this preview, or it is older than an hour. Preview the policy again.',
    'outdated',
  )

const contextOf = ({ tenantId, userId }: Promoter, policyId: string) =>
  JSON.stringify([tenantId, userId, policyId])

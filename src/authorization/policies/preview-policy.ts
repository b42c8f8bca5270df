import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { askerIn } from '../../platform/http/decide.ts'
import type { Effect } from '../../policy-engine/evaluate/decision.ts'
import { listNewest, type RecordedQuestion } from '../decisions/store.ts'
import { askReplay } from './ask-trial-thread.ts'
import { draftPolicy } from './policy-body.ts'
import { promotionToken } from './promote-policy.ts'
import { replayDecisions } from './replay.ts'
import { isQuick } from './review-policy.ts'
import { startTrial, type TrialTarget } from './trial.ts'

export const policyPreview = z.object({
  draft: draftPolicy.optional(),
  limit: z
    .int('Give the limit as a whole number.')
    .min(1, 'Preview on at least one decision.')
    .max(1000, 'Preview on 1000 decisions at most.')
    .default(1000),
})

/** The same about a policy that is not stored. */
export const draftPreview = policyPreview.extend({ draft: draftPolicy })

interface Flip {
  decision_id: string
  action: string
  subject: { id: string; email: string | null }
  resource: { type: string; id: string | null }
  before: Effect
  after: Effect
}

// More decisions than this, or with many policies, are replayed in a thread.
const maxInline = 200

/**
 * Decides the newest recorded decisions again, as if the policy (or the draft) were in force, and lists those with a
 * different effect. Decisions without a recorded attribute that the policies now read are only counted.
 */
export async function previewPolicy(
  deps: Deps,
  caller: Caller,
  target: TrialTarget,
  { draft, limit }: z.output<typeof policyPreview>,
  text: () => string,
) {
  const trial = await startTrial(deps, caller, target, draft, text)
  const rows = await inTenant(deps.db, caller, (tx) => listNewest(tx, caller.tenantId, limit))
  const { active, policy } = trial
  const replay = { askedBy: askerIn(caller), rows }
  const effects =
    rows.length > maxInline || !isQuick(active, policy)
      ? await askReplay(deps, caller, active, { policy, ...replay })
      : await replayDecisions(trial.policies.active, replay, deps.access.trials, deps.newPace())
  const flips = rows.flatMap((row, index) => {
    const after = effects[index] ?? null
    return after === null || after === row.effect ? [] : [flipOf(row, after)]
  })
  const { row: stored } = target
  const notReplayable = effects.filter((effect) => effect === null).length
  return {
    evaluated: rows.length - notReplayable,
    not_replayable: notReplayable,
    counts: countsOf(flips),
    flips,
    promotion_token: draft || !stored ? null : promotionToken(deps, caller, stored, trial.policies.revision),
  }
}

const flipOf = (row: RecordedQuestion, after: Effect): Flip => ({
  decision_id: row.id,
  action: row.action,
  subject: { id: row.subject_id, email: row.subject_email },
  resource: { type: row.resource_type, id: row.resource_id },
  before: row.effect,
  after,
})

function countsOf(flips: readonly Flip[]): Record<string, number> {
  const counts: Record<string, number> = { allow_to_deny: 0, deny_to_allow: 0 }
  for (const { before, after } of flips) {
    const kind = `${before}_to_${after}`
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

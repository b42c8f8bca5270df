import { z } from 'zod'
import { inTenant } from '../../../database/executor/transaction.ts'
import type { Deps } from '../../../deps.ts'
import type { IllTyped } from '../../../policy-engine/evaluate/attribute-faults.ts'
import type { Effect } from '../../../policy-engine/evaluate/decision.ts'
import { rfc3339 } from '../../../request/body/schemas.ts'
import type { Caller } from '../../../request/caller.ts'
import { askerIn } from '../../../request/decide.ts'
import { effectOf } from '../../decisions/decide-shadows.ts'
import { type About, listNewest, type RecordedQuery } from '../../decisions/store.ts'
import { draftPolicy } from '../policy-body.ts'
import { isQuick } from '../review-policy.ts'
import type { PolicyRow } from '../store.ts'
import { askReplay } from './ask-trial-thread.ts'
import { promotionToken, type Unreplayed } from './promote-policy.ts'
import { type Replayed, replayDecisions } from './replay.ts'
import { startTrial, type Trial, type TrialTarget } from './trial.ts'

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
  subject: { id: string | null; email: string | null }
  resource: { type: string; id: string | null }
  before: Effect
  after: Effect
  withheld: string[]
}

// More decisions than this, or with many policies, are replayed in a thread.
const maxInline = 200

/**
 * Decides the newest recorded decisions about the actions of a policy (or draft) again, with the policies in force and with
 * this one among them, and lists those that differ. What the policy would have done in shadow mode stands where a decision
 * cannot be decided again. Others are only counted, with the attributes that were not recorded, and so are those that the
 * caller cannot read.
 */
export async function previewPolicy(
  deps: Deps,
  caller: Caller,
  target: TrialTarget,
  { draft, limit }: z.output<typeof policyPreview>,
  text: () => string,
) {
  const trial = await startTrial(deps, caller, target, draft, text)
  const stored = draft ? null : target.row
  const asked = { about: aboutOf(trial), shadow: stored && shadowOf(stored), limit }
  const newest = await inTenant(deps.db, caller, (tx) => listNewest(tx, caller.tenantId, asked))
  const readable = await readableOf(deps, caller, newest)
  const rows = readable.map(({ row }) => row)
  const compared = (await replayed(deps, caller, trial, rows)).map((one, index) =>
    orRecorded(rows[index]!, one),
  )
  const flips = readable.flatMap(({ row, masked }, index) => {
    const found = compared[index]!
    return 'missing' in found || found.before === found.after ? [] : [flipOf(row, found, masked)]
  })
  const unreplayed = unreplayedIn(compared)
  return {
    evaluated: rows.length - unreplayed.not_replayable,
    ...unreplayed,
    ...faultsIn(compared),
    counts: countsOf(flips),
    flips,
    withheld: newest.length - rows.length,
    promotion_token: stored && promotionToken(deps, caller, stored, trial.policies.revision, unreplayed),
  }
}

/** What the policy is about, and what its stored form is about that is in force. */
const aboutOf = ({ active, policy }: Trial): About[] => {
  const inForce = active.policies.filter(({ id, mode }) => id === policy.id && mode === 'enforce')
  return [policy, ...inForce].map(({ compiled }) => compiled)
}

const shadowOf = ({ id, version }: PolicyRow) => ({ policy_id: id, version })

function replayed(deps: Deps, caller: Caller, { active, policy }: Trial, rows: readonly RecordedQuery[]) {
  const replay = { policy, askedBy: askerIn(caller), rows }
  return rows.length > maxInline || !isQuick(active, policy)
    ? askReplay(deps, caller, active, replay)
    : replayDecisions(active, replay, deps.access.trials, deps.newPace())
}

/** A decision that cannot be decided again, with what the policy would have done to it in shadow mode, if that is recorded. */
function orRecorded({ effect, outcome }: RecordedQuery, found: Replayed): Replayed {
  if ('before' in found || outcome === null) return found
  const after = outcome === 'applied' ? effect : effectOf(outcome)
  return after ? { before: effect, after } : found
}

function unreplayedIn(compared: readonly Replayed[]): Unreplayed {
  const lacking = compared.flatMap((one) => ('missing' in one ? [one.missing] : []))
  return { not_replayable: lacking.length, missing_attributes: tally(lacking.flat()) }
}

/** What the policy reads of the decisions that were decided again and that does not count, and in how many. */
function faultsIn(compared: readonly Replayed[]) {
  const again = compared.flatMap((one) => ('missing' in one ? [] : [one]))
  const illTyped = again.flatMap(({ illTyped = [] }) => illTyped.map((one) => JSON.stringify(one)))
  return {
    ill_typed_attributes: Object.entries(tally(illTyped)).map(([fault, decisions]) => ({
      ...(JSON.parse(fault) as IllTyped),
      decisions,
    })),
    ignored_properties: tally(again.flatMap(({ ignored = [] }) => ignored)),
  }
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** The decisions that the caller can read, in a list and alone, each with the paths that are masked for them. */
async function readableOf(deps: Deps, caller: Caller, rows: readonly RecordedQuery[]) {
  const pace = deps.newPace()
  const readers = [caller.readerBy('decision:list'), caller.readerBy('decision:read')]
  const readable: { row: RecordedQuery; masked: readonly string[] }[] = []
  for (const row of rows) {
    await pace.next()
    const resource = { type: 'decision', id: row.id, ownerId: row.subject_id, fields: shownQuery(row) }
    const masked = readers.map((reads) => reads(resource))
    if (masked.every((paths) => paths !== null)) readable.push({ row, masked: masked.flat() })
  }
  return readable
}

const shownQuery = (row: RecordedQuery) => ({
  id: row.id,
  effect: row.effect,
  action: row.action,
  resource: { type: row.resource_type, id: row.resource_id },
  subject: { id: row.subject_id, email: row.subject_email },
  request_id: row.request_id,
  at: rfc3339(row.at),
})

const canBeWithheld = ['subject.id', 'subject.email', 'resource.id'] as const

function flipOf(
  row: RecordedQuery,
  { before, after }: { before: Effect; after: Effect },
  masked: readonly string[],
): Flip {
  const withheld = canBeWithheld.filter(
    (path) => masked.includes(path) || masked.includes(path.split('.')[0]!),
  )
  const shown = <T>(path: (typeof canBeWithheld)[number], value: T) =>
    withheld.includes(path) ? null : value
  return {
    decision_id: row.id,
    action: row.action,
    subject: { id: shown('subject.id', row.subject_id), email: shown('subject.email', row.subject_email) },
    resource: { type: row.resource_type, id: shown('resource.id', row.resource_id) },
    before,
    after,
    withheld,
  }
}

function countsOf(flips: readonly Flip[]): Record<string, number> {
  const kinds = flips.map(({ before, after }) => `${before}_to_${after}`)
  return { allow_to_deny: 0, deny_to_allow: 0, ...tally(kinds) }
}

import type { Deps } from '../../deps.ts'
import { actions, isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import { emptySlice } from '../../policy-engine/compile/slice.ts'
import {
  type ExplainedPolicy,
  explanationSentences,
  leafSentence,
} from '../../policy-engine/evaluate/explain.ts'
import { sentenceOf } from '../../policy-engine/evaluate/reasons.ts'
import type { Caller } from '../../request/caller.ts'
import { askerIn } from '../../request/decide.ts'
import { policyReader } from '../policies/readable-parts.ts'
import { type Hints, hintsOf } from './answer-schemas.ts'
import { type ExplainVersions, versionExplainer } from './explain-versions.ts'
import { queryFrom } from './facts.ts'
import { type LoadedDecision, showDecision } from './read-decisions.ts'
import type { DecisionRow } from './store.ts'
import { unmetPolicies, unmetSentence, withheldFrom } from './unmet-policies.ts'

/**
 * A decision with its explanation in sentences, and the conditions of the matched policies with the values they were
 * compared with. Of a denial by roles, also the allow policies that do not apply. Left out are policies that the caller cannot
 * read, and those that compare what the caller cannot read: their outcome would tell the value. Readers who can read only
 * their own decisions get the reasons, without policies and conditions.
 */
export async function explainDecision(deps: Deps, caller: Caller, { row, whole }: LoadedDecision) {
  const facts = 'cut' in row.facts ? undefined : row.facts
  const hints = hintsOf(whole, facts ?? {}, facts?.unknown)
  if (!whole) {
    const explanation = [
      summaryOf(row),
      ...row.reasons.map((reason) => sentenceOf(reason, row.action)),
      ...doubts(row, hints),
    ]
    return {
      ...showDecision(row, whole, caller.userId),
      ...hints,
      explanation,
      trace: [],
      unmet_policies: [],
    }
  }
  const query = queryFrom(row, emptySlice(caller.tenantId, row.policy_revision))
  const isWithheld = query ? await withheldFrom(deps, caller, query) : () => false
  const isRead = policyReader(caller)
  const isShown = ({ compiled }: ExplainedPolicy) => !Object.keys(compiled.attributes).some(isWithheld)
  const { db, access } = deps
  const explain: ExplainVersions = query
    ? versionExplainer({ db, trials: access.trials }, caller, { ...query, askedBy: askerIn(caller) }, isShown)
    : async () => []
  const policies = await explain(
    row.matched.filter(({ policy_id: id, ...named }) => isRead({ id, ...named })),
  )
  const inForce = async () =>
    (await deps.policyCache.load(caller, caller.auth.tenant?.policyRevision ?? 0)).active.policies
  const reader = { isRead, isWithheld, now: deps.clock(), pace: deps.newPace() }
  const unmet = query ? await unmetPolicies({ row, query }, reader, inForce, explain) : []
  const decision = { ...row, durationUs: 0, approval: null, provisional: false }
  const matched = row.matched.map((match) => ({ ...match, priority: 0 }))
  const sentences = explanationSentences(
    { decision: { ...decision, matched }, policies },
    row.action,
    row.subject_id === caller.userId,
  )
  return {
    ...showDecision(row, whole, caller.userId),
    ...hints,
    explanation: [
      summaryOf(row),
      ...sentences,
      ...(isWithheld('subject.roles') ? [] : rolesOf(row)),
      ...unmet.map((one) => unmetSentence(one, leafSentence)),
      ...doubts(row, hints),
    ],
    trace: policies,
    unmet_policies: unmet,
  }
}

/** Possible mistakes in the question, as sentences. */
function doubts({ action, resource_type: type, reasons }: DecisionRow, hints: Hints): string[] {
  const { missing_attributes: missing, unknown_action, unknown_resource_type } = hints
  const { ill_typed_attributes: illTyped, ignored_properties: ignored } = hints
  const isReason = (code: string) => reasons.some((reason) => reason.code === code)
  return [
    ...(unknown_action && !isReason('unknown_action')
      ? [`No policy in force, no role and no manifest names ${action}: check the spelling.`]
      : []),
    ...(unknown_resource_type && !isReason('unknown_resource_type')
      ? [`No policy in force, no role and no manifest names the resource type ${type}: check the spelling.`]
      : []),
    ...(missing.length > 0
      ? [`The question lacks attributes that policies read: ${missing.join(', ')}.`]
      : []),
    ...illTyped.map(
      ({ name, expected, got }) =>
        `The value of ${name} counts as missing: expected ${expected}, got ${got}.`,
    ),
    ...(ignored.length > 0
      ? [
          `The question sends values that do not count, because the service takes its own: ${ignored.join(', ')}.`,
        ]
      : []),
  ]
}

/** The question and its outcome in one sentence. */
function summaryOf({
  kind,
  subject_email,
  subject_id,
  action,
  resource_type,
  resource_id,
  effect,
}: DecisionRow): string {
  const who = subject_email ?? subject_id
  const what = resource_id === null ? resource_type : `${resource_type} ${resource_id}`
  return `${asked[kind](who)} ${action} on ${what}: ${outcomes[effect]}.`
}

const asked = {
  request: (who: string) => `${who} asked for`,
  question: (who: string) => `It was asked whether ${who} may do`,
  preview: (who: string) => `${who} asked whether they may do`,
}

const outcomes = { allow: 'allowed', deny: 'denied', require_approval: 'an approval is needed' }

/** If roles did not permit the action: the roles held, and the system roles that permit it. */
function rolesOf({ reasons, action, facts }: DecisionRow): string[] {
  if (!reasons.some(({ code }) => code === 'missing_permission' || code === 'not_owner')) return []
  if ('cut' in facts) return []
  const { roles, systemRoles = [] } = facts.subject.membership ?? {}
  const held = (roles ?? systemRoles).join(', ') || 'none'
  const permitting = isServiceAction(action) ? actions[action].roles : ['owner', 'admin']
  const needed = permitting.length > 0 ? ` System roles that permit it: ${permitting.join(', ')}.` : ''
  return [`Roles held: ${held}.${needed}`]
}

import { inTenant } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { actions, isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import { compilePolicy } from '../../policy-engine/compile/compile-policy.ts'
import { emptySlice } from '../../policy-engine/compile/slice.ts'
import { type ExplainedPolicy, explanationSentences } from '../../policy-engine/evaluate/explain.ts'
import { sentenceOf } from '../../policy-engine/evaluate/reasons.ts'
import type { Caller } from '../../request/caller.ts'
import { askerIn } from '../../request/decide.ts'
import { findModuleOf, unzipped } from '../policies/active-store.ts'
import { readPolicySchema, roleFinder } from '../policies/policy-schema.ts'
import { policyReader } from '../policies/readable-parts.ts'
import { findVersion } from '../policies/store.ts'
import { type Hints, hintsOf } from './answer-schemas.ts'
import { queryFrom } from './facts.ts'
import { type LoadedDecision, showDecision } from './read-decisions.ts'
import type { DecisionRow } from './store.ts'
import {
  type ExplainVersions,
  type PolicyRef,
  unmetPolicies,
  unmetSentence,
  withheldFrom,
} from './unmet-policies.ts'

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
  // The recorded decision is not made again; the module only evaluates the conditions of the policies.
  const explain: ExplainVersions = async (refs) => {
    const versions = query ? (await policiesOf(deps, caller, refs)).filter(isShown) : []
    if (!query || versions.length === 0) return []
    const { trials } = deps.access
    const modules = versions.flatMap(({ wasm }) => wasm ?? [])
    if (modules.length > 0) await trials.warmModules(modules)
    return trials.explain({ ...query, askedBy: askerIn(caller) }, versions).policies
  }
  const policies = await explain(
    row.matched.filter(({ policy_id: id, ...named }) => isRead({ id, ...named })),
  )
  const unmet = query ? await unmetPolicies(deps, caller, { row, query, isWithheld }, explain) : []
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
      ...unmet.map(unmetSentence),
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

/** Policies in these versions, deleted ones included. */
async function policiesOf(
  { db }: Deps,
  caller: Caller,
  refs: readonly PolicyRef[],
): Promise<ExplainedPolicy[]> {
  const { tenantId } = caller
  const { schema, versions } = await inTenant(db, caller, async (tx) => {
    const versions = await Promise.all(
      refs.map(async ({ policy_id, version }) => {
        const [found, module] = await Promise.all([
          findVersion(tx, tenantId, policy_id, version),
          findModuleOf(tx, tenantId, policy_id, version),
        ])
        return { version: found, module }
      }),
    )
    return { schema: await readPolicySchema(tx, tenantId), versions }
  })
  const context = { attributes: schema.attributes, role: roleFinder(schema) }
  const explained: ExplainedPolicy[] = []
  for (const { version, module } of versions) {
    if (!version || (version.source.module !== undefined && !module)) continue
    const result = compilePolicy(version.source, { ...context, ...(module && { module }) })
    // It cannot be compiled if one of its attributes was deleted since.
    if ('faults' in result) continue
    explained.push({
      id: version.policy_id,
      version: version.version,
      compiled: result.policy,
      document: result.document,
      wasm: module && (await unzipped(module.zipped)),
    })
  }
  return explained
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

import type { QuerySqlToken } from 'slonik'
import { z } from 'zod'
import { type DecisionKind, decisionKinds, kindOfRow, ofKind } from '../../database/decision-kind.ts'
import { deleteOld } from '../../database/delete-old.ts'
import type { Read } from '../../database/executor/read.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { byText, byWord, defineList, type Filter, type ListPage } from '../../lists/list.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { actionNames, serviceResources, wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'
import { type Obligation, policyEffects } from '../../policy-engine/compile/policy-document.ts'
import type { Matched, Reason } from '../../policy-engine/evaluate/decision.ts'
import type { ShadowOutcome, ShadowResult } from './decide-shadows.ts'
import type { Facts } from './facts.ts'

const listOf = <T>() => z.custom<T[]>((value) => Array.isArray(value))

const decisionRow = z.object({
  id: z.uuid(),
  at: z.number(),
  kind: z.enum(decisionKinds),
  effect: z.enum(policyEffects),
  action: z.string(),
  resource_type: z.string(),
  resource_id: z.string().nullable(),
  subject_id: z.string(),
  subject_email: z.string().nullable(),
  reasons: listOf<Reason>(),
  matched: listOf<Omit<Matched, 'priority'>>(),
  shadow: listOf<ShadowResult>(),
  obligations: listOf<Obligation>(),
  policy_revision: z.number(),
  facts: z.custom<Facts>((value) => typeof value === 'object' && value !== null),
  request_id: z.string(),
})

export type DecisionRow = z.infer<typeof decisionRow>

const columns = sql.fragment`
  id, at, ${kindOfRow} as kind, effect, action, resource_type, resource_id, subject_id, subject_email, reasons, matched, obligations,
  policy_revision, facts, request_id, shadow`

/** A new decision; `at` in ms since 1970. */
export interface NewDecision {
  tenantId: string
  id: string
  at: number
  kind: DecisionKind
  effect: DecisionRow['effect']
  action: string
  resourceType: string
  resourceId: string | null
  subjectId: string
  subjectEmail: string | null
  reasons: readonly Reason[]
  matched: readonly object[]
  obligations: readonly Obligation[]
  policyRevision: number
  engineRevision: string
  facts: Facts
  durationUs: number
  requestId: string
  shadow: readonly ShadowResult[]
}

const columnsOf = (d: NewDecision) => [
  d.tenantId,
  d.id,
  new Date(d.at).toISOString(),
  d.effect,
  d.action,
  d.resourceType,
  d.resourceId,
  d.subjectId,
  d.subjectEmail,
  JSON.stringify(d.reasons),
  JSON.stringify(d.matched),
  JSON.stringify(d.obligations),
  d.policyRevision,
  d.engineRevision,
  JSON.stringify(d.facts),
  d.durationUs,
  d.requestId,
  JSON.stringify(d.shadow),
  d.kind,
]

/**
 * The statements that insert decisions. Only the system role can insert those of any tenant. A decision that is stored already stays as it is: its change
 * was committed, but the answer to the commit was lost.
 */
export const decisionInserts = (decisions: readonly NewDecision[]): QuerySqlToken[] =>
  listsOfValues(decisions.map(columnsOf)).map(
    (values) => sql.unsafe`
    insert into decisions (tenant_id, id, at, effect, action, resource_type, resource_id, subject_id, subject_email,
                           reasons, matched, obligations, policy_revision, engine_revision, facts, duration_us, request_id,
                           shadow, kind)
    ${values} on conflict do nothing`,
  )

const text = z.string().min(1, 'Say what to look for.').max(254, 'This may have 254 characters at most.')

/** Without it, a list has requests only: a query says nothing about what was done. */
const byKind: Filter = {
  schema: z.enum([...decisionKinds, 'all'], 'kind is request, question, preview or all.').meta({
    description:
      '`request` (the default): what was done or refused, also by your application; `question`: a person asked what another may do; `preview`: a person asked what this service would let them do; `all`',
  }),
  usual: 'request',
  where: (kind) => ofKind[kind as keyof typeof ofKind],
}

/** The decisions of a tenant, newest first. */
export const decisionList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`at`, field: 'at', reveals: ['at'] } },
  newestFirst: true,
  filters: {
    kind: byKind,
    effect: byWord(sql.fragment`effect`, policyEffects),
    action: byText(sql.fragment`action`, text),
    subject_id: byText(sql.fragment`subject_id`, text, 'subject.id'),
    resource_type: byText(sql.fragment`resource_type`, text, 'resource.type'),
    resource_id: byText(sql.fragment`resource_id`, text, 'resource.id'),
  },
})

/** A page of the tenant's decisions, or of those about one subject. */
export function listDecisions(
  tx: Read,
  tenantId: string,
  subjectId: string | null,
  page: ListPage,
): Promise<readonly DecisionRow[]> {
  const about = subjectId === null ? sql.fragment`` : sql.fragment`and subject_id = ${subjectId}`
  return tx.any(sql.type(decisionRow)`
    select ${columns} from decisions where tenant_id = ${tenantId} ${about} ${page.tail}`)
}

/** What another decision of the same query needs. `facts` is JSON: reading a thousand takes 20 ms. */
const recordedQuery = decisionRow
  .omit({ kind: true, reasons: true, matched: true, shadow: true, obligations: true, policy_revision: true })
  .extend({ facts: z.string(), outcome: z.custom<ShadowOutcome>().nullable() })

export type RecordedQuery = z.infer<typeof recordedQuery>

/** What policies are about. */
export type About = Pick<CompiledPolicy, 'actions' | 'resourceTypes'>

/**
 * The newest `limit` queries that were decided in the tenant and that one of these is about. `outcome` is what this version
 * of a policy would have done in shadow mode; null if it is not recorded.
 */
export function listNewest(
  tx: Tx,
  tenantId: string,
  {
    about,
    shadow,
    limit,
  }: { about: readonly About[]; shadow: Pick<ShadowResult, 'policy_id' | 'version'> | null; limit: number },
): Promise<readonly RecordedQuery[]> {
  const concerned = sql.join(about.map(concerning), sql.fragment` or `)
  return tx.any(sql.type(recordedQuery)`
    select id, at, effect, action, resource_type, resource_id, subject_id, subject_email, request_id, facts::text as facts,
           jsonb_path_query_first(shadow, '$[*] ? (@.policy_id == $policy_id && @.version == $version).outcome',
                                  ${JSON.stringify(shadow ?? { policy_id: null, version: null })}::jsonb) #>> '{}' as outcome
    from decisions where tenant_id = ${tenantId} and (${concerned}) order by at desc, id desc limit ${limit}`)
}

function concerning({ actions, resourceTypes }: About) {
  const wildcards = actions.filter((name) => name.endsWith(':*'))
  const resources = wildcards.map((name) => name.slice(0, -2))
  const named = [...actions, ...actionNames.filter((name) => wildcards.includes(wildcardOf(name)))]
  const others = resources.filter((name) => !serviceResources.has(name))
  const conditions = [
    ...(actions.includes('*')
      ? [sql.fragment`true`]
      : [sql.fragment`action = any(${sql.array(named, 'text')})`]),
    ...(others.length > 0
      ? [sql.fragment`split_part(action, ':', 1) = any(${sql.array(others, 'text')})`]
      : []),
  ]
  const ofTypes =
    resourceTypes.length > 0
      ? sql.fragment`and resource_type = any(${sql.array(resourceTypes, 'text')})`
      : sql.fragment``
  return sql.fragment`((${sql.join(conditions, sql.fragment` or `)}) ${ofTypes})`
}

/** One decision of the tenant, or null. */
export function findDecision(tx: Read, tenantId: string, id: string): Promise<DecisionRow | null> {
  return tx.maybeOne(sql.type(decisionRow)`
    select ${columns} from decisions where tenant_id = ${tenantId} and id = ${id}`)
}

/** Deletes at most `max` decisions older than `before` (ms since 1970); returns how many. As the worker role. */
export const deleteDecisionsBefore = (tx: Tx, before: number, max: number): Promise<number> =>
  deleteOld(tx, { table: 'decisions', column: 'at', before: sql.fragment`${instant(before)}` }, max)

const counted = ['evaluated', 'applied', 'would_deny', 'would_allow', 'would_gate', 'errors'] as const

/** Decisions for which a policy in shadow mode was evaluated, and of these what it would have done. */
export type ShadowCounts = Record<(typeof counted)[number], number>

export const noCounts = (): ShadowCounts =>
  Object.fromEntries(counted.map((name) => [name, 0])) as ShadowCounts

/** Counts of one version of a policy on one day (UTC, `2026-11-21`). */
export interface CountsOfDay {
  tenantId: string
  policyId: string
  version: number
  day: string
  counts: ShadowCounts
}

/** Adds counts of any tenants, in one order, so that two processes do not wait for each other. As the system role. */
export async function addShadowCounts(tx: Tx, added: readonly CountsOfDay[], at: number): Promise<void> {
  const inOrder = added.toSorted(
    (a, b) =>
      compare(a.tenantId, b.tenantId) ||
      compare(a.policyId, b.policyId) ||
      compare(a.day, b.day) ||
      a.version - b.version,
  )
  const rows = inOrder.map(({ tenantId, policyId, version, day, counts }) => [
    tenantId,
    timeOrderedId(at),
    policyId,
    version,
    day,
    ...counted.map((name) => counts[name]),
  ])
  for (const values of listsOfValues(rows))
    tx.later(sql.unsafe`
    insert into policy_stats as s (tenant_id, id, policy_id, version, day, evaluated, applied, would_deny, would_allow,
                                   would_gate, errors)
    ${values}
    on conflict (tenant_id, policy_id, day, version) do update set
      evaluated = s.evaluated + excluded.evaluated, applied = s.applied + excluded.applied,
      would_deny = s.would_deny + excluded.would_deny, would_allow = s.would_allow + excluded.would_allow,
      would_gate = s.would_gate + excluded.would_gate, errors = s.errors + excluded.errors`)
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const statsRow = z.object({
  day: z.string(),
  version: z.number(),
  evaluated: z.number(),
  applied: z.number(),
  would_deny: z.number(),
  would_allow: z.number(),
  would_gate: z.number(),
  errors: z.number(),
})

const maxRows = 1_000

/** The counts of a policy by day and version, newest first; 1,000 at most. */
export function listShadowCounts(
  read: Read,
  tenantId: string,
  policyId: string,
): Promise<readonly z.infer<typeof statsRow>[]> {
  return read.any(sql.type(statsRow)`
    select to_char(day, 'YYYY-MM-DD') as day, version, evaluated, applied, would_deny, would_allow, would_gate, errors
    from policy_stats where tenant_id = ${tenantId} and policy_id = ${policyId}
    order by policy_stats.day desc, version desc limit ${maxRows}`)
}

/** Deletes at most `max` counts of days before `before` (ms since 1970); returns how many. As the worker role. */
export const deleteShadowCountsBefore = (tx: Tx, before: number, max: number): Promise<number> =>
  deleteOld(tx, { table: 'policy_stats', column: 'day', before: sql.fragment`${instant(before)}::date` }, max)

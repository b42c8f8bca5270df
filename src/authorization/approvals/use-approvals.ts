import { readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { DecisionPace } from '../../limits/decision-time.ts'
import type { AnyQuery, ApplicationQuery, GrantedApproval } from '../../policy-engine/evaluate/query.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import type { Caller } from '../../request/caller.ts'
import { type DecidedEvaluation, decideQuery } from '../evaluation/decide-evaluation.ts'
import type { SlicedPolicies } from '../policies/slice-policies.ts'
import { bindEvaluation } from './bind-evaluation.ts'
import { type GateRef, gatesOf } from './store.ts'
import { listUsable, type UsableRow } from './transition-store.ts'

/** What an answer says of approvals: the way to ask for one, and the open request. */
export interface ApprovalHints {
  approval?: typeof wayToAsk
  approval_request?: { id: string; status: 'pending' | 'approved'; expires_at: string } | Usable
}

interface Usable {
  id: string
  valid_until: string
}

export const approvalRequests = '/api/v1/approval-requests'
const wayToAsk = { method: 'POST', path: `${approvalRequests}/` } as const

/**
 * Answers evaluations of applications that need an approval: those with an approved and unused request are decided again
 * with it, the others name their open request. One statement for all of them. An actor uses no approval of the subject's.
 */
export async function useApprovals<Decided extends DecidedEvaluation>(
  deps: Pick<Deps, 'access' | 'clock' | 'db'>,
  caller: Caller,
  policies: SlicedPolicies,
  asked: readonly Decided[],
  pace?: DecisionPace,
): Promise<(Decided & { hints: ApprovalHints })[]> {
  const digests = asked.map(({ query, decision }) =>
    needsApproval(query, decision) && !caller.impersonator
      ? (bindEvaluation(query, policies, gatesOf(decision))?.digest ?? null)
      : null,
  )
  const wanted = [...new Set(digests.filter((digest) => digest !== null))]
  const rows =
    wanted.length === 0
      ? []
      : await readInTenant(deps.db, caller, (read) => listUsable(read, caller.tenantId, wanted, deps.clock()))
  const answered: (Decided & { hints: ApprovalHints })[] = []
  for (const [n, one] of asked.entries()) {
    const row = digests[n] && rows.find((row) => isFor(row, digests[n]!, gatesOf(one.decision)))
    if (row && row.status === 'approved') await pace?.next()
    answered.push({ ...one, ...withRequest(deps, one, row || undefined) })
  }
  return answered
}

const needsApproval = (
  query: AnyQuery,
  { effect }: DecidedEvaluation['decision'],
): query is ApplicationQuery => effect === 'require_approval' && 'application' in query

function isFor(row: UsableRow, digest: string, gates: readonly GateRef[]): boolean {
  const names = (refs: readonly GateRef[]) => refs.map(({ policy_id, version }) => `${policy_id} ${version}`)
  const wanted = new Set(names(gates))
  return (
    row.digest === digest &&
    row.gates.length === gates.length &&
    names(row.gates).every((name) => wanted.has(name))
  )
}

function withRequest(
  deps: Pick<Deps, 'access'>,
  { query, decision }: DecidedEvaluation,
  row: UsableRow | undefined,
): Pick<DecidedEvaluation, 'query' | 'decision'> & { hints: ApprovalHints } {
  if (!needsApproval(query, decision)) return { query, decision, hints: {} }
  if (!row) return { query, decision, hints: { approval: wayToAsk } }
  const { id, status, expires_at } = row
  const until = rfc3339(expires_at)
  const decided = status === 'approved' ? decideQuery(deps, withApproval(query, row)) : { query, decision }
  if (decided.decision.effect === 'allow')
    return { ...decided, hints: { approval_request: { id, valid_until: until } } }
  return { ...decided, hints: { approval: wayToAsk, approval_request: { id, status, expires_at: until } } }
}

/** The same evaluation with an approved request. */
export function withApproval(
  query: ApplicationQuery,
  { id, gates, expires_at: validUntil }: Pick<UsableRow, 'id' | 'gates' | 'expires_at'>,
): ApplicationQuery {
  const approval: GrantedApproval = {
    id,
    subjectId: query.subject.id,
    action: query.action,
    resourceType: query.resource.type,
    resourceId: query.resource.id,
    validUntil,
    gates: gates.map(({ policy_id, version }) => ({ policyId: policy_id, version })),
  }
  return { ...query, approval }
}

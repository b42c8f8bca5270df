import { versionExplainer } from '../../authorization/decisions/explain-versions.ts'
import { queryFrom } from '../../authorization/decisions/facts.ts'
import { type DecisionRow, findDecision } from '../../authorization/decisions/store.ts'
import { unmetPolicies, unmetSentence } from '../../authorization/decisions/unmet-policies.ts'
import { listActivePolicies, withCompiled } from '../../authorization/policies/active-store.ts'
import { nilUuid } from '../../crypto/uuid.ts'
import { readInTenant } from '../../database/executor/read.ts'
import { type Databases, inTenant } from '../../database/executor/transaction.ts'
import { decisionPace } from '../../limits/decision-time.ts'
import { emptySlice } from '../../policy-engine/compile/slice.ts'
import { openAccessEngine } from '../../policy-engine/evaluate/engine.ts'
import { comparisonSentence } from '../../policy-engine/evaluate/explain.ts'
import { sentenceOf } from '../../policy-engine/evaluate/reasons.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { defineCommand, Refused } from '../command.ts'
import { id, required } from '../options.ts'
import { inColumns } from '../printable.ts'
import { withPools } from '../with-database.ts'

export const decisionsShow = defineCommand({
  name: 'decisions:show',
  about:
    'Show a decision of the log with its reasons: who, what, when, and why, with the policies that could permit it and do not apply; not the values that policies compare',
  options: {
    tenant: required(
      '<id>',
      'The id of the tenant: `tenant_id` in the token of the caller, or see tenants:list',
      id,
    ),
    id: required('<id>', 'The id of the decision: `decision_id` of a refusal', id),
  },
  example: '--tenant 019aa6f1-0b7e-7d51-8a10-3f2e1d0c9b8a --id 019aa6f1-0b7e-7d51-8a10-3f2e1d0c9b8b',
  failure:
    'failed, or the log of the tenant has no such decision: of allowed reads it keeps one in a hundred',
  roles: ['api'],
  run: ({ config, options: { tenant: tenantId, id } }) =>
    withPools(config, ['api'], async (db) => {
      const row = await inTenant(db, { tenantId, userId: nilUuid }, (tx) => findDecision(tx, tenantId, id))
      if (!row) throw new Refused('not_found', 'The log of this tenant has no such decision.')
      const data = {
        id,
        at: rfc3339(row.at),
        kind: row.kind,
        subject: row.subject_email ? `${row.subject_id} (${row.subject_email})` : row.subject_id,
        action: row.action,
        resource: `${row.resource_type} ${row.resource_id ?? ''}`.trim(),
        effect: row.effect,
        reasons: row.reasons.map((reason) => sentenceOf(reason, row.action, false)),
        unmet_policies: await unmetIn(db, { tenantId, userId: nilUuid }, row),
        policy_revision: row.policy_revision,
        request_id: row.request_id,
      }
      const said = {
        ...data,
        unmet_policies: data.unmet_policies.map((one) => unmetSentence(one, comparisonSentence)),
      }
      const lines = Object.entries(said).map(([name, value]) => [name, [value].flat().join(' ')])
      return { data, text: inColumns(['', ''], lines).trim() }
    }),
})

/** The policies that can permit what a decision denied, without what they compare. */
async function unmetIn(
  db: Pick<Databases, 'api'>,
  reader: { tenantId: string; userId: string },
  row: DecisionRow,
) {
  const { tenantId } = reader
  const query = queryFrom(row, emptySlice(tenantId, row.policy_revision))
  if (!query) return []
  const inForce = async () =>
    (await withCompiled(await readInTenant(db, reader, (read) => listActivePolicies(read, tenantId))))
      .policies
  const readsAll = {
    isRead: () => true,
    isWithheld: () => false,
    now: Date.now(),
    pace: decisionPace(Number.POSITIVE_INFINITY),
  }
  const unmet = await unmetPolicies({ row, query }, readsAll, inForce, async (refs) => {
    const { trials } = await openAccessEngine()
    return versionExplainer({ db, trials }, reader, query, () => true)(refs)
  })
  return unmet.map(({ failed, ...policy }) => ({
    ...policy,
    failed: failed.map(({ path, outcome, attribute, operator }) => ({ path, outcome, attribute, operator })),
  }))
}

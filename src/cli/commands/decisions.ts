import { findDecision } from '../../authorization/decisions/store.ts'
import { nilUuid } from '../../crypto/uuid.ts'
import { inTenant } from '../../database/executor/transaction.ts'
import { sentenceOf } from '../../policy-engine/evaluate/reasons.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { defineCommand, Refused } from '../command.ts'
import { id, required } from '../options.ts'
import { inColumns } from '../printable.ts'
import { withPools } from '../with-database.ts'

export const decisionsShow = defineCommand({
  name: 'decisions:show',
  about:
    'Show a decision of the log with its reasons: who, what, when, and why; not the values that policies read',
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
        policy_revision: row.policy_revision,
        request_id: row.request_id,
      }
      const lines = Object.entries(data).map(([name, value]) => [name, [value].flat().join(' ')])
      return { data, text: inColumns(['', ''], lines).trim() }
    }),
})

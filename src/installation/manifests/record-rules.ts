import type { Tx } from '../../database/executor/transaction.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import type { Recipient } from './give-rules.ts'
import type { WebhookPlan } from './give-webhooks.ts'
import type { planPolicies } from './policy-plan.ts'
import type { InstalledRules } from './store.ts'
import type { NamesPlan } from './tenant-plan.ts'

/** One event and one audit row for all changes of a tenant: a manifest can change a hundred objects of each. */
export async function recordRules(
  tx: Tx,
  { revision, manifests }: InstalledRules,
  { tenantId, requestInfo, at }: Recipient,
  done: {
    names: NamesPlan
    policies: ReturnType<typeof planPolicies>
    webhooks: WebhookPlan
    kept: string[]
  },
): Promise<void> {
  const { names, policies, webhooks, kept } = done
  const changes = Object.fromEntries(
    [
      ['versions', [], manifests.map(({ application, version }) => `${application} ${version}`)],
      ['roles', names.removedRoles.map(({ name }) => name), names.roles.map(({ wanted }) => wanted.name)],
      [
        'attributes',
        names.removedDefinitions.map(({ category, key }) => `${category}.${key}`),
        names.definitions.map(({ wanted }) => `${wanted.category}.${wanted.key}`),
      ],
      [
        'policies',
        policies.removed.map(({ name }) => name),
        policies.written.map(({ fields }) => fields.name),
      ],
      [
        'webhooks',
        webhooks.removed.map(({ managed_as }) => managed_as ?? ''),
        webhooks.written.map(({ wanted }) => wanted.key),
      ],
      ['kept', [], kept],
    ]
      .filter(([, before, after]) => before!.length + after!.length > 0)
      .map(([field, before, after]) => [field, { before, after }]),
  )
  const event = appendEvent(tx, {
    type: 'tenant.rules_updated',
    tenantId,
    subject: tenantId,
    data: { tenant_id: tenantId, manifest_revision: revision },
    actorId: null,
    requestId: requestInfo.requestId,
    traceparent: requestInfo.traceparent ?? undefined,
    at,
  })
  const audit = appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo,
    action: 'manifest:apply',
    target: { type: 'tenant', id: tenantId },
    changes,
    at,
  })
  await Promise.all([event, audit])
}

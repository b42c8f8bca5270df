import type { Service } from '../helpers/service.ts'
import { multiply, withoutTriggers } from './many-rows.ts'

// Each status, action and so on has about its share of the rows, as in use: few requests wait, most calls are allowed.
const at = `timestamptz '2026-01-01' + n * interval '1 second'`
const action = `(array['member:create', 'member:update', 'role:update', 'policy:update', 'note:read'])[1 + (n / 10) % 5]`
const person = `overlay(overlay(md5('person ' || (n / 10) % 500) placing '4' from 13) placing '8' from 17)::uuid`

/** A tenth of the rows are the tenant's, the others belong to 2,000 others. */
const tenantOfRow = `case when n % 10 = 0 then t.tenant_id else md5('tenant ' || n % 1999)::uuid end`
const other = `md5('tenant ' || n % 1999)::uuid`

/** Tables that grow without limit. */
const growing: Record<string, Record<string, string>> = {
  audit_log: { at, action, actor_id: person, target_id: person },
  events: { sequence: '100 + n', occurred_at: at },
  invitations: {
    created_at: at,
    email: `'guest' || n || '@example.com'`,
    token_hash: 'sha256(n::text::bytea)',
    status: `(array['accepted', 'cancelled', 'expired', 'accepted', 'pending'])[1 + (n / 10) % 5]`,
    accepted_at: `case when (n / 10) % 5 in (0, 3) then ${at} end`,
  },
  policy_versions: { created_at: at, version: '1 + n' },
  decisions: {
    at,
    action,
    subject_id: `(${person})::text`,
    effect: `(array['deny', 'allow', 'allow', 'allow', 'require_approval'])[1 + (n / 10) % 5]`,
    resource_type: `(array['member', 'note'])[1 + (n / 10) % 2]`,
    resource_id: `(${person})::text`,
  },
  webhook_deliveries: {
    created_at: at,
    event_id: 'gen_random_uuid()',
    event_type: `(array['identity.user_created', 'tenant.member_added'])[1 + (n / 10) % 2]`,
    status: `case when (n / 10) % 100 = 0 then 'dead' else 'succeeded' end`,
  },
  approval_requests: {
    created_at: at,
    action,
    requester_id: person,
    digest: 'n::text',
    status: `case when (n / 10) % 1000 = 0 then 'pending' else 'rejected' end`,
  },
}

/** Tables with a limit for each tenant: a few hundred rows. */
const limited: Record<string, Record<string, string>> = {
  roles: { created_at: at, name: `'Role ' || n`, is_system: 'false', name_key: `'role ' || n` },
  departments: { created_at: at, name: `'Department ' || n` },
  policies: { created_at: at, name: `'Policy ' || n` },
  attribute_definitions: { created_at: at, key: `'key_' || n` },
  webhooks: { created_at: at },
}

/** Members of the other tenants; the tenant's own are there before. */
const neighbours: Record<string, Record<string, string>> = {
  memberships: {
    tenant_id: other,
    id: `md5('member ' || n)::uuid`,
    user_id: 'gen_random_uuid()',
    email: `'neighbour' || n || '@example.com'`,
    first_name: `'First' || n`,
    joined_at: at,
  },
  membership_roles: {
    tenant_id: other,
    membership_id: `md5('member ' || n)::uuid`,
    role_id: `md5('role ' || n % 1999)::uuid`,
  },
}

/** Rows that only the workers, or two people together, could make. */
const firstRows = [
  `insert into decisions (tenant_id, id, at, effect, action, resource_type, subject_id, reasons, matched, obligations,
     policy_revision, engine_revision, facts, duration_us, request_id)
   values ($1, gen_random_uuid(), '2026-01-01', 'deny', 'note:read', 'note', 'x', '[]', '[]', '[]', 1, 'x', '{}', 9, 'x')`,
  `insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order, status, retry_until,
     created_at, ended_at)
   select $1, gen_random_uuid(), id, gen_random_uuid(), 'tenant.member_added', 1, true, 'succeeded', now(), '2026-01-01', now()
   from webhooks where tenant_id = $1`,
  `insert into approval_requests (tenant_id, id, requester_id, requester_email, action, resource_type, digest, context, reason,
     gates, approvers, required_approvals, valid_for, status, expires_at, created_at)
   values ($1, gen_random_uuid(), gen_random_uuid(), 'x@example.com', 'note:read', 'note', 'x',
     '{"method": "GET", "path": "/", "body": null, "ip": "", "request_id": "x", "decision_id": "x"}', '', '[]', '[]', 1, 60,
     'rejected', now(), '2026-01-01')`,
]

/**
 * Gives the tenant, which needs one row in each table of the API, `count` rows in each table that grows, and 2,000 other
 * tenants nine times as many together, and 900,000 members. Then gathers statistics.
 */
export function fillTenant(service: Service, tenantId: string, count: number): Promise<void> {
  return withoutTriggers(service.databases.superuser, async (client) => {
    for (const insert of firstRows) await client.query(insert, [tenantId])
    for (const [table, changes] of Object.entries(growing))
      await multiply(client, table, {
        tenantId,
        count: 10 * count,
        changes: { tenant_id: tenantOfRow, ...changes },
      })
    for (const [table, changes] of Object.entries(limited))
      await multiply(client, table, {
        tenantId,
        count: 4_000,
        changes: { tenant_id: tenantOfRow, ...changes },
      })
    for (const [table, changes] of Object.entries(neighbours))
      await multiply(client, table, { tenantId, count: 900_000, changes })
    await client.query('vacuum analyze')
  })
}

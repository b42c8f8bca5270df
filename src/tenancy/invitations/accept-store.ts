import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { invitationStatus } from './store.ts'

const moment = (ms: number) => sql.timestamp(new Date(ms))

const offerRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  email: z.string(),
  send_count: z.number(),
  status: invitationStatus,
  expires_at: z.number(),
  tenant_status: z.enum(['active', 'suspended', 'archived']),
  tenant_deleted: z.boolean(),
  tenant_name: z.string(),
  tenant_slug: z.string(),
  allowed_email_domains: z.array(z.string()),
})

/** What a token offers. */
export type Offer = z.infer<typeof offerRow>

/** The invitation that a token is of, dead or alive; as the system role. */
export function findOffer(tx: Tx, tokenHash: Buffer): Promise<Offer | null> {
  return tx.maybeOne(sql.type(offerRow)`
    select i.tenant_id, i.id, i.email, i.send_count, i.status, i.expires_at, t.status as tenant_status,
           t.deleted_at is not null as tenant_deleted, t.name as tenant_name, t.slug as tenant_slug,
           coalesce(t.settings -> 'allowed_email_domains', '[]') as allowed_email_domains
    from invitations i join tenants t on t.id = i.tenant_id where i.token_hash = ${sql.binary(tokenHash)}`)
}

const acceptedRow = z.object({
  role_ids: z.array(z.uuid()),
  department_id: z.uuid().nullable(),
  invited_by: z.uuid(),
})

/**
 * Accepts an invitation with the token of its `sendCount`-th mail, if that is the newest, its time is not over and
 * the tenant is open; of any number who try, one gets the row.
 */
export function markAccepted(
  tx: Tx,
  accepted: { tenantId: string; id: string; sendCount: number; userId: string; at: number },
): Promise<z.infer<typeof acceptedRow> | null> {
  const at = moment(accepted.at)
  return tx.maybeOne(sql.type(acceptedRow)`
    update invitations set status = 'accepted', accepted_at = ${at}, accepted_by = ${accepted.userId}, updated_at = ${at}
    where tenant_id = ${accepted.tenantId} and id = ${accepted.id} and status = 'pending' and expires_at > ${at}
      and send_count = ${accepted.sendCount}
      and exists (select from tenants t where t.id = ${accepted.tenantId} and t.status = 'active' and t.deleted_at is null)
    returning role_ids, department_id, invited_by`)
}

const inviterRow = z.object({
  systemRoles: z.array(z.enum(systemRoles)),
  permissions: z.array(z.string()),
})

/** What an active member may, by their roles; null for whoever is none. */
export function findInviter(
  tx: Tx,
  tenantId: string,
  userId: string,
): Promise<z.infer<typeof inviterRow> | null> {
  return tx.maybeOne(sql.type(inviterRow)`
    select coalesce(array_agg(distinct r.name) filter (where r.is_system), '{}') as "systemRoles",
           coalesce(array_agg(distinct p) filter (where p is not null), '{}') as permissions
    from memberships m
    join users u on u.id = m.user_id and u.is_active
    join membership_roles mr on mr.tenant_id = m.tenant_id and mr.membership_id = m.id
    join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
    left join lateral unnest(r.permissions) p on true
    where m.tenant_id = ${tenantId} and m.user_id = ${userId} and m.status = 'active'
    group by m.id`)
}

const heldRole = z.object({
  id: z.uuid(),
  name: z.string(),
  permissions: z.array(z.string()),
  is_system: z.boolean(),
})

/** Those of the roles that there are still, kept as they are until the transaction ends. */
export function holdRoles(
  tx: Tx,
  tenantId: string,
  ids: readonly string[],
): Promise<readonly z.infer<typeof heldRole>[]> {
  return tx.any(sql.type(heldRole)`
    select id, name, permissions, is_system from roles
    where tenant_id = ${tenantId} and id = any(${sql.array(ids, 'uuid')}) order by created_at, id for share`)
}

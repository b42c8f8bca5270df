import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

const jsonb = (value: unknown) => sql.jsonb(value as never)

const approver = z.object({ id: z.uuid(), email: z.string() })
export type Approver = z.infer<typeof approver>

interface Eligible {
  approvers: readonly (readonly string[])[]
  requesterId: string
  /** Of these alone, where given. */
  among?: readonly string[]
  most: number
}

/** Members who could approve now: active, with a role of each list, and not the requester; at most `most`. */
export function listEligible(tx: Tx, tenantId: string, asked: Eligible): Promise<readonly Approver[]> {
  const [first = []] = asked.approvers
  const among = asked.among
    ? sql.fragment`and m.user_id = any(${sql.array(asked.among, 'uuid')})`
    : sql.fragment``
  return tx.any(sql.type(approver)`
    select m.user_id as id, m.email from memberships m join users u on u.id = m.user_id and u.is_active
    where m.tenant_id = ${tenantId} and m.status = 'active' and m.user_id <> ${asked.requesterId}
      and m.id in (select mr.membership_id from membership_roles mr
                   where mr.tenant_id = ${tenantId} and mr.role_id = any(${sql.array(first, 'uuid')}))
      ${among}
      and not exists (
        select from jsonb_array_elements(${jsonb(asked.approvers)}) needed where not exists (
          select from membership_roles mr
          where mr.tenant_id = m.tenant_id and mr.membership_id = m.id and needed ? mr.role_id::text))
    order by m.joined_at, m.id limit ${asked.most}`)
}

/** The name of the tenant, for letters. */
export function findTenantName(tx: Tx, tenantId: string): Promise<string> {
  return tx.oneFirst(
    sql.type(z.object({ name: z.string() }))`select name from tenants where id = ${tenantId}`,
  )
}

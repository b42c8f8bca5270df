import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { revisionOf } from '../../database/revisions.ts'
import type { Connection } from '../../request/caller.ts'
import { tenantStatus } from '../../tenancy/tenants/store.ts'
import { activator } from './check-store.ts'
import { joinings, mappingRule } from './store.ts'

const givingRow = z.object({ jit: z.enum(joinings), mapping: z.array(mappingRule), activator })

/** Whom a connection brings into its tenant, what its mapping gives them, and what its activator held. */
export type Giving = z.infer<typeof givingRow>

const joiningRow = givingRow.extend({
  name: z.string(),
  activated_by: z.uuid(),
  tenant_name: z.string(),
  tenant_status: tenantStatus,
  allowed_email_domains: z.array(z.string()),
  require_mfa: z.boolean(),
  time_zone: z.string().nullable(),
  policy_revision: z.number(),
})

/** An active connection, and the tenant that people join by it. */
export type Joining = z.infer<typeof joiningRow>

/** An active connection with its tenant; null for another one. As the system role. */
export const findJoining = (read: Read, { tenantId, id }: Connection): Promise<Joining | null> =>
  read.maybeOne(sql.type(joiningRow)`
    select c.name, c.jit, c.mapping, c.activator, c.activated_by, t.name as tenant_name, t.status as tenant_status,
           coalesce(t.settings -> 'allowed_email_domains', '[]') as allowed_email_domains,
           coalesce((t.settings ->> 'require_mfa')::boolean, false) as require_mfa,
           t.settings ->> 'time_zone' as time_zone, ${revisionOf(read, tenantId)} as policy_revision
    from connections c join tenants t on t.id = ${tenantId} and t.deleted_at is null
    where c.tenant_id = ${tenantId} and c.id = ${id} and c.status = 'active'`)

/** What a connection gives, which stays so until the transaction ends; null: it is not active by now. */
export const holdGiving = (tx: Tx, { tenantId, id }: Connection): Promise<Giving | null> =>
  tx.maybeOne(sql.type(givingRow)`
    select jit, mapping, activator from connections
    where tenant_id = ${tenantId} and id = ${id} and status = 'active' for share`)

/** Whether a member has roles by a connection. As the system role. */
export const hasRolesBy = (tx: Tx, { tenantId, id }: Connection, memberId: string): Promise<boolean> =>
  tx.exists(sql.unsafe`
    select 1 from membership_roles
    where tenant_id = ${tenantId} and membership_id = ${memberId} and connection_id = ${id}`)

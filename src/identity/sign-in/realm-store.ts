import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'
import { ssoModes } from '../../tenancy/tenants/store.ts'

// By which connections people sign in, before one of them is known. All as the system role.

const wayRow = z.object({ id: z.uuid(), tenant_id: z.uuid(), name: z.string(), sso: z.enum(ssoModes) })

/** An active connection, with what its tenant asks of sign-ins. */
export type ConnectionWay = z.infer<typeof wayRow>

/** The active connections of tenants, the oldest first. */
export const listConnectionWays = (
  read: Read,
  tenantIds: readonly string[],
): Promise<readonly ConnectionWay[]> =>
  read.any(sql.type(wayRow)`
    select c.id, c.tenant_id, c.name, coalesce(t.settings ->> 'sso', 'off') as sso
    from connections c join tenants t on t.id = c.tenant_id
    where c.tenant_id = any(${sql.array([...tenantIds], 'uuid')}) and c.status = 'active'
      and t.status = 'active' and t.deleted_at is null
    order by c.created_at, c.id`)

const tenantRow = z.object({ tenant_id: z.uuid() })

/** The tenant of an active connection, or null. */
export const findTenantOfConnection = (read: Read, id: string): Promise<string | null> =>
  read.maybeOneFirst(
    sql.type(tenantRow)`select tenant_id from connections where id = ${id} and status = 'active'`,
  )

const requiredRow = z.object({ required: z.boolean() })

/** Whether a tenant has its members sign in by its connections. */
export const requiresSso = (read: Read, tenantId: string): Promise<boolean | null> =>
  read.maybeOneFirst(sql.type(requiredRow)`
    select coalesce(settings ->> 'sso', 'off') = 'required' as required from tenants where id = ${tenantId} and deleted_at is null`)

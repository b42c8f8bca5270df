import { z } from 'zod'

// zod compiles a schema at its first use, which takes longer than most statements. So each schema of a row is made once,
// never in the function that asks.

/** The row of a statement that finds, changes or deletes one object. */
export const idRow = z.object({ id: z.uuid() })

/** The row of a statement that counts. */
export const countRow = z.object({ count: z.number() })

/** The row of a statement that finds a tenant. */
export const tenantIdRow = z.object({ tenant_id: z.uuid() })

/** A permission that a role has. */
export const permissionRow = z.object({ permission: z.string() })

/** The revision of a tenant's policies. */
export const policyRevisionRow = z.object({ policy_revision: z.number() })

/** Whether a statement got an advisory lock. */
export const lockedRow = z.object({ locked: z.boolean() })

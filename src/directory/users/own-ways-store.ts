import { z } from 'zod'
import { sql, type Tx } from '../../database/executor/transaction.ts'

const waysRow = z.object({ password_hash: z.string(), has_factor: z.boolean(), has_identity: z.boolean() })

/**
 * The ways into an account that its person made: a password, a factor besides codes by e-mail, and an account at another provider than
 * the connections of the tenant. As the system role.
 */
export const findOwnWays = (
  tx: Tx,
  { userId, tenantId }: { userId: string; tenantId: string },
): Promise<z.infer<typeof waysRow>> =>
  tx.one(sql.type(waysRow)`
    select u.password_hash,
      exists (select 1 from otp_devices d where d.user_id = u.id and d.type <> 'email')
        or exists (select 1 from passkeys p where p.user_id = u.id) as has_factor,
      exists (select 1 from federated_identities i
              where i.user_id = u.id and i.tenant_id is distinct from ${tenantId}::uuid) as has_identity
    from users u where u.id = ${userId}`)

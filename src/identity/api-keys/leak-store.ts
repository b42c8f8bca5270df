import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

const leakedRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  user_id: z.uuid().nullable(),
  account_id: z.uuid().nullable(),
  name: z.string(),
  key_hash: z.instanceof(Buffer),
  tenant_name: z.string(),
  holder_name: z.string(),
  holder_email: z.string(),
})

/** A live key with the names of its tenant and holder. */
export type LeakedKey = z.infer<typeof leakedRow>

/** The key with this id, if it works at `now` (ms since 1970), or null. As the system role. */
export function findLeakedKey(tx: Tx, id: string, now: number): Promise<LeakedKey | null> {
  return tx.maybeOne(sql.type(leakedRow)`
    select k.tenant_id, k.id, k.user_id, k.account_id, k.name, k.key_hash, t.name as tenant_name,
           coalesce(u.first_name, m.first_name, '') as holder_name, coalesce(u.email, '') as holder_email
    from api_keys k
    join tenants t on t.id = k.tenant_id
    left join memberships m on m.tenant_id = k.tenant_id and m.id = k.account_id
    left join users u on u.id = k.user_id
    where k.id = ${id} and k.revoked_at is null and k.expires_at > ${instant(now)} limit 1`)
}

const maxTold = 50

/** The ids of the tenant's active owners and of the key's person, 50 at most. As the system role. */
export function listToldOfLeak(tx: Tx, { tenant_id, user_id }: LeakedKey): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    select u.id from users u where u.id = ${user_id}::uuid and u.is_active
    union
    (select u.id from roles r
     join membership_roles mr on mr.tenant_id = r.tenant_id and mr.role_id = r.id
     join memberships m on m.tenant_id = mr.tenant_id and m.id = mr.membership_id and m.status = 'active'
     join users u on u.id = m.user_id and u.is_active
     where r.tenant_id = ${tenant_id} and r.is_system and r.name = 'owner'
     order by m.joined_at, m.id limit ${maxTold})`)
}

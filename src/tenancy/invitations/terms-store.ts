import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { Offer } from './store.ts'

const termsRow = z.object({
  roles: z.array(z.string()),
  inviter: z
    .object({ firstName: z.string(), lastName: z.string(), email: z.string(), emailVerified: z.boolean() })
    .nullable(),
})

/** The roles of an invitation by name, and who invites, while they are a member. As the system role. */
export function findTerms(
  read: Read,
  { tenant_id, id }: Pick<Offer, 'tenant_id' | 'id'>,
): Promise<z.infer<typeof termsRow> | null> {
  return read.maybeOne(sql.type(termsRow)`
    select array(select r.name from roles r where r.tenant_id = i.tenant_id and r.id = any(i.role_ids)
                 order by r.created_at, r.id) as roles,
           case when m.id is not null then jsonb_build_object('firstName', m.first_name, 'lastName', m.last_name,
             'email', m.email, 'emailVerified', coalesce(m.email_verified, false)) end as inviter
    from invitations i
    left join memberships m on m.tenant_id = i.tenant_id
      and (m.user_id = i.invited_by or (m.id = i.invited_by and m.kind = 'service_account'))
    where i.tenant_id = ${tenant_id} and i.id = ${id}`)
}

/** Makes a pending invitation to an address that of a User of a directory; false if there is none. */
export async function adoptPending(
  tx: Tx,
  invitation: { tenantId: string; email: string; membershipId: string; at: number },
): Promise<boolean> {
  const { tenantId, email, membershipId, at } = invitation
  const found = await tx.maybeOne(sql.type(idRow)`
    update invitations set membership_id = ${membershipId}
    where tenant_id = ${tenantId} and email = ${email} and status = 'pending' and expires_at > ${instant(at)} returning id`)
  return found !== null
}

import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { findCredentials } from '../users/store.ts'

/**
 * How long the answer takes where REGISTRATION_HIDE_EXISTING is set (see `padDuration`): far more than an account or an
 * address takes to write, so that neither that nor the mail to the owner shows in the time.
 */
export const hiddenMs = 200

/** Tells the owner of an address that somebody else asked for it; in place of telling that somebody. */
export async function mailAddressOwner(deps: Deps, email: string, requestInfo: RequestInfo): Promise<void> {
  await asSystem(deps.db, 'the address belongs to somebody else', async (tx) => {
    const owner = await findCredentials(tx, email)
    const place = owner && (await listMembershipsOf(tx, owner.id))[0]
    if (!place) return
    const mail = {
      tenantId: place.tenant_id,
      to: email,
      template: 'address_already_registered',
      variables: {},
    } as const
    await sendMail(tx, deps.sealer, { ...mail, requestId: requestInfo.requestId, at: deps.clock() })
  })
}

import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { findCredentials } from '../users/store.ts'

/**
 * The duration of an answer if REGISTRATION_HIDE_EXISTING is set (see `padDuration`): much longer than writing an
 * account or an address takes, so that the time shows neither that nor the mail to the owner.
 */
export const hiddenMs = 200

/** Mails the owner of an address that another person asked for it, since that person must not learn of the account. */
export async function mailAddressOwner(deps: Deps, email: string, requestInfo: RequestInfo): Promise<void> {
  await asSystem(deps.db, 'the address belongs to another person', async (tx) => {
    const owner = await findCredentials(tx, email)
    const membership = owner && (await listMembershipsOf(tx, owner.id))[0]
    if (!membership) return
    const mail = {
      tenantId: membership.tenant_id,
      to: email,
      template: 'address_already_registered',
      variables: {},
    } as const
    await sendMail(tx, deps.sealer, {
      ...mail,
      requestId: requestInfo.requestId,
      languages: requestInfo.languages,
      at: deps.clock(),
    })
  })
}

import { hash } from 'node:crypto'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { nameOfClient } from '../../messages/mail/client-name.ts'
import { notifyPerson } from '../users/notify-people.ts'
import { addressKey } from './address-key.ts'
import { recordSignInPlace, touchSignInPlace } from './store.ts'

/** A completed sign-in: with the second factor, if one was due. */
interface SignIn {
  userId: string
  tenantId: string
  requestInfo: RequestInfo
  /** Whether the person has signed in from there before. */
  isKnownPlace: boolean
  at: number
}

/** Where a sign-in comes from, as it is compared with earlier ones. */
export const placeOf = ({ ip, userAgent }: Pick<RequestInfo, 'ip' | 'userAgent'>) => ({
  address: addressKey(ip),
  device: hash('sha256', userAgent, 'buffer'),
})

/**
 * Records the address and device of a sign-in, and mails the person if that pair is new, unless it is their first. As
 * the system role, in the transaction of the sign-in.
 */
export async function recordSignIn(deps: Pick<Deps, 'sealer'>, tx: Tx, signIn: SignIn): Promise<void> {
  const { userId, tenantId, requestInfo, at } = signIn
  const place = { userId, ...placeOf(requestInfo), at }
  if (signIn.isKnownPlace) return touchSignInPlace(tx, place)
  const { is_new, is_first } = await recordSignInPlace(tx, place)
  if (!is_new || is_first) return
  const { ip, userAgent } = requestInfo
  await notifyPerson(tx, deps.sealer, userId, {
    tenantId,
    template: 'new_sign_in',
    variables: { ip, device: nameOfClient(userAgent), at },
    requestInfo,
    at,
  })
}

import { asSystem, type Databases, type Tx } from '../../database/executor/transaction.ts'
import type { Config } from '../../settings/config.ts'
import { addressKey } from './address-key.ts'
import { accountKey, type Limit, throttled } from './limits.ts'
import { countRecipient, senderWindowEnds } from './store.ts'

/** The sender of a mail that the recipient may not want, for example a Caller. */
export interface Sender {
  userId: string
  tenantId: string
  requestInfo: { ip: string }
}

const senderKinds = ['strangers-person', 'strangers-tenant', 'strangers-address'] as const
type SenderKind = (typeof senderKinds)[number]

const seconds = 86_400

const limitsOf = (config: Config): Record<SenderKind, Limit> => ({
  'strangers-person': { points: config.RATE_LIMIT_STRANGERS_PER_PERSON, seconds },
  'strangers-tenant': { points: config.RATE_LIMIT_STRANGERS_PER_TENANT, seconds },
  'strangers-address': { points: config.RATE_LIMIT_STRANGERS_PER_ADDRESS, seconds },
})

/**
 * Counts a recipient for the person, the tenant and the IP address that send the mail. A recipient counts once a day, so
 * sending again is free. A later failure does not take the count back: otherwise a sender could fail on purpose. Throws
 * 429 `throttled` if one of the three limits is used up, and then counts for none.
 */
export async function countStranger(
  { config, db, clock }: { config: Config; db: Pick<Databases, 'system'>; clock: () => number },
  { userId, tenantId, requestInfo }: Sender,
  email: string,
  refused: (limit: string) => void,
): Promise<void> {
  const at = clock()
  const limits = limitsOf(config)
  const senders: Record<SenderKind, string> = {
    'strangers-person': `person:${userId}`,
    'strangers-tenant': `tenant:${tenantId}`,
    'strangers-address': `address:${addressKey(requestInfo.ip)}`,
  }
  const recipient = accountKey(email).toString('base64url').slice(0, 12)
  const count = async (tx: Tx, kind: SenderKind) => {
    const sender = senders[kind]
    const { points: max } = limits[kind]
    if (await countRecipient(tx, { sender, recipient, max, at, until: at + seconds * 1000 })) return
    refused(kind)
    throw throttled(kind, limits[kind], (await senderWindowEnds(tx, sender)) - at)
  }
  await asSystem(db, 'the limits span tenants', async (tx) => {
    for (const kind of senderKinds) await count(tx, kind)
  })
}

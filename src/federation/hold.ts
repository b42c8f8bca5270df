import { hashOneTimeToken, makeOneTimeToken } from '../crypto/one-time-token.ts'
import { readAsSystem } from '../database/executor/read.ts'
import { asSystem } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { findRecipient } from '../identity/auth/mail-account-link.ts'
import { hiddenMs } from '../identity/auth/mail-address-owner.ts'
import { makePerson } from '../identity/federated/make-person.ts'
import { anonymousMailUses, registerUses } from '../identity/rate-limits/limits.ts'
import { padDuration } from '../identity/rate-limits/pad-duration.ts'
import { sendMail } from '../messages/mail/send-mail.ts'
import { browserHash, lifetimeMs } from './flows.ts'
import type { Said, WaitsFor } from './settle.ts'
import { findHeldFlow, type HeldRow, holdFlow } from './store.ts'

const reason = 'a sign-in with another provider waits before its person is known'
const minutes = 60

/** A sign-in that waits: for a link in a mail, for an address, or for a word about who is signed in. */
export interface Held {
  waitsFor: WaitsFor
  /** The name of the upstream. */
  name: string
  said: Said
  /** The account that was made for the mail, whose address only that mail can prove. */
  madeId: string | null
}

/** Lets a flow wait for an address, or for a word about who is signed in. */
export function hold(deps: Pick<Deps, 'db' | 'sealer' | 'clock'>, id: string, held: Held): Promise<void> {
  const sealed = deps.sealer.seal('federation', JSON.stringify(held), id)
  return asSystem(deps.db, reason, async (tx) =>
    holdFlow(tx, { id, sealed, mailHash: null, expiresAt: deps.clock() + lifetimeMs }),
  )
}

/**
 * Lets a flow wait for the reader of an address, who gets a mail with a link. Takes as long, and answers alike, for every address. One
 * without an account gets one first, which only this link can open. 429 `throttled`.
 */
export async function holdForMail(
  deps: Deps,
  requestInfo: RequestInfo,
  id: string,
  { name, said }: Pick<Held, 'name' | 'said'> & { said: Said & { email: string } },
): Promise<void> {
  const { email } = said
  await deps.limiters.take([
    ...anonymousMailUses('provider', email, requestInfo.ip),
    ...registerUses(requestInfo.ip),
  ])
  await padDuration(hiddenMs, async () => {
    const made = await makePerson(deps, requestInfo, { ...said, isProven: false })
    const recipient = made
      ? { tenantId: made.tenantId, firstName: '' }
      : await findRecipient(deps, requestInfo, email)
    const { token, hash: mailHash } = makeOneTimeToken()
    const held: Held = { waitsFor: 'mail', name, said, madeId: made?.id ?? null }
    const at = deps.clock()
    await asSystem(deps.db, reason, async (tx) => {
      const sealed = deps.sealer.seal('federation', JSON.stringify(held), id)
      holdFlow(tx, { id, sealed, mailHash, expiresAt: at + minutes * 60_000 })
      if (!recipient) return
      const { tenantId, firstName } = recipient
      const link = `${deps.publicUrl()}/sign-in/provider/?token=${token}`
      // Name and address there can be those of the reader, written by someone else: the id is not.
      const variables = { link, firstName, provider: name, account: said.subject, minutes }
      await sendMail(tx, deps.sealer, {
        tenantId,
        to: email,
        template: 'provider_sign_in',
        variables,
        requestInfo,
        at,
      })
    })
  })
}

/** What a person calls their account at a provider. */
export const accountOf = ({ email, firstName, lastName, subject }: Said): string =>
  [`${firstName} ${lastName}`.trim(), email].filter(Boolean).join(', ') || subject

/** A sign-in that waits, as a browser finds it. */
export interface Waiting extends Held {
  flowId: string
  provider: string
  /** Whether the browser is the one that began. */
  isOwn: boolean
  returnTo: string | null
}

/** The sign-in that waits for the reader of a mail, by its token; null if there is none any more. */
export const findByMail = (
  deps: Pick<Deps, 'db' | 'sealer' | 'clock'>,
  browsers: readonly string[],
  token: string,
): Promise<Waiting | null> => find(deps, browsers, { mailHash: hashOneTimeToken(token) })

/** The sign-in that waits in the browser that began it, by its id; null if there is none any more. */
export async function findHere(
  deps: Pick<Deps, 'db' | 'sealer' | 'clock'>,
  browsers: readonly string[],
  id: string,
): Promise<Waiting | null> {
  const waiting = await find(deps, browsers, { id })
  return waiting?.isOwn ? waiting : null
}

async function find(
  deps: Pick<Deps, 'db' | 'sealer' | 'clock'>,
  browsers: readonly string[],
  by: { id: string } | { mailHash: Buffer },
): Promise<Waiting | null> {
  const row = await readAsSystem(deps.db, reason, (read) => findHeldFlow(read, by, deps.clock()))
  return row && opened(deps, browsers, row)
}

function opened({ sealer }: Pick<Deps, 'sealer'>, browsers: readonly string[], row: HeldRow): Waiting {
  const open = (sealed: Buffer) => JSON.parse(sealer.open('federation', sealed, row.id))
  const isOwn = browsers.some((browser) => browserHash(browser).equals(row.browser_hash))
  const { returnTo } = open(row.kept_sealed)
  return { ...open(row.asserted_sealed), flowId: row.id, provider: row.provider, isOwn, returnTo }
}

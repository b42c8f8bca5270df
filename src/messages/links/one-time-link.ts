import { hashOneTimeToken, makeOneTimeToken } from '../../crypto/one-time-token.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { timeOrderedId } from '../outbox/time-ordered-id.ts'
import { endTokens, findUnusedToken, insertLinkToken, markTokenUsed } from './link-store.ts'
import { type LinkDeps, type LinkPurpose, linkUrl } from './mailed-links.ts'

// A one-time link is made with its mail. It leads to a page with one button, whose POST (`mailedLink`) uses it. To
// add one: a name in mailed-links.ts, its page in pages/links, its route in request/registry.ts.

/** A link to make: its user, the address it is sent to, and its lifetime (ms) from `at` (ms since 1970). */
export interface NewLink {
  purpose: LinkPurpose
  userId: string
  /** The tenant where the flow began; its event and audit rows belong there. */
  tenantId: string
  email: string
  /** The object that the link is about, unless that is the user: a membership, a device. */
  targetId?: string
  /** For a link that undoes a change of address: the first proof of the account before the change; null for none. */
  firstProofAt?: number | null
  at: number
  lifeMs: number
}

/** Stores a new token's hash and gives the address for the mail. As the user or the system role. */
export const makeLink = async (tx: Tx, deps: LinkDeps, link: NewLink): Promise<string> =>
  linkUrl(deps, link.purpose, await makeLinkToken(tx, link))

/** As {@link makeLink}, for a mail with several links: gives the token. */
export async function makeLinkToken(tx: Tx, link: NewLink): Promise<string> {
  const { purpose, userId, tenantId, email, targetId = null, firstProofAt = null, at, lifeMs } = link
  const { token, hash: tokenHash } = makeOneTimeToken()
  const id = timeOrderedId(at)
  await insertLinkToken(tx, {
    id,
    purpose,
    userId,
    tenantId,
    email,
    targetId,
    tokenHash,
    firstProofAt,
    at,
    expiresAt: at + lifeMs,
  })
  return token
}

/** A valid link that was presented. */
export interface PresentedLink {
  id: string
  purpose: LinkPurpose
  userId: string
  tenantId: string
  email: string
  targetId: string | null
  firstProofAt: number | null
  /** When it was made, in ms since 1970. */
  madeAt: number
  at: number
}

/**
 * The valid link of a token, which stays unused. Throws 400 `token_expired` for a link that is only too old, otherwise
 * 400 `token_invalid`. As the system role, because no other role can read token hashes.
 */
export async function findLink(
  tx: Tx,
  { purpose, token, at }: { purpose: LinkPurpose; token: string; at: number },
): Promise<PresentedLink> {
  const found = await findUnusedToken(tx, { hash: hashOneTimeToken(token), purpose, at })
  if (!found) throw deadLink()
  if (found.expired) throw expiredLink()
  const { id, user_id: userId, tenant_id: tenantId, target_id: targetId, email } = found
  const { first_proof_at: firstProofAt, created_at: madeAt } = found
  return { id, purpose, userId, tenantId, email, targetId, firstProofAt, madeAt, at }
}

/**
 * Uses a link, in the transaction of its effect; it also ends the user's other links of this purpose and target. Throws
 * 400 `token_invalid` when another call was first. As the user or the system role.
 */
export async function spendLink(tx: Tx, link: PresentedLink): Promise<void> {
  if (!(await markTokenUsed(tx, link.id, link.at))) throw deadLink()
  await endTokens(tx, link)
}

/** 400 `token_invalid`: a link that no longer works. */
export const deadLink = () =>
  new ApiError(400, 'token_invalid', 'This link is not valid: it was used or replaced, or never existed.')

/** 400 `token_expired`: a link that is only too old. */
const expiredLink = () => new ApiError(400, 'token_expired', 'This link has expired. Request a new one.')

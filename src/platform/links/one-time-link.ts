import { hashOneTimeToken, makeOneTimeToken } from '../crypto/one-time-token.ts'
import type { Tx } from '../db/transaction.ts'
import { ApiError } from '../errors.ts'
import { timeOrderedId } from '../outbox/time-ordered-id.ts'
import { endTokens, findUnusedToken, insertLinkToken, markTokenUsed } from './link-store.ts'
import { type LinkDeps, type LinkPurpose, linkUrl } from './mailed-links.ts'

// A one-time link is made with the mail that carries it, leads to a page with one button, and is used by the POST of
// a `linkRoute`. To add one: a name in mailed-links.ts, its page in http/pages.ts, its route in http/registry.ts.

/** What a link is for: whose it is, the address it is sent to, and for how long (ms) from `at` (ms since 1970). */
export interface NewLink {
  purpose: LinkPurpose
  userId: string
  /** Where the flow began: its event and audit rows belong there. */
  tenantId: string
  email: string
  /** What the link is about, where that is not the person: a membership, a device. */
  targetId?: string
  at: number
  lifeMs: number
}

/** Keeps the hash of a new token and gives the address for the mail; the scope must be the person, or the system role. */
export const makeLink = async (tx: Tx, deps: LinkDeps, link: NewLink): Promise<string> =>
  linkUrl(deps, link.purpose, await makeLinkToken(tx, link))

/** As {@link makeLink}, for a mail with more than one link: gives the token. */
export async function makeLinkToken(tx: Tx, link: NewLink): Promise<string> {
  const { purpose, userId, tenantId, email, targetId = null, at, lifeMs } = link
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
    at,
    expiresAt: at + lifeMs,
  })
  return token
}

/** A live link as it was presented. */
export interface PresentedLink {
  id: string
  purpose: LinkPurpose
  userId: string
  tenantId: string
  email: string
  targetId: string | null
  at: number
}

/**
 * The live link that a token is of; uses nothing up. 400 `token_expired` for one that is only too old, else
 * 400 `token_invalid`. As the system role, for no other reads hashes of tokens.
 */
export async function findLink(
  tx: Tx,
  { purpose, token, at }: { purpose: LinkPurpose; token: string; at: number },
): Promise<PresentedLink> {
  const found = await findUnusedToken(tx, { hash: hashOneTimeToken(token), purpose, at })
  if (!found) throw deadLink()
  if (found.expired) throw expiredLink()
  const { id, user_id: userId, tenant_id: tenantId, target_id: targetId, email } = found
  return { id, purpose, userId, tenantId, email, targetId, at }
}

/**
 * Uses a link up, in the transaction of its effect; the person's others of this purpose and target die with it.
 * 400 `token_invalid` where another presenter was first. The scope must be the person, or the system role.
 */
export async function spendLink(tx: Tx, link: PresentedLink): Promise<void> {
  if (!(await markTokenUsed(tx, link.id, link.at))) throw deadLink()
  await endTokens(tx, link)
}

/** 400 `token_invalid`: a link that does nothing any more. */
export const deadLink = () =>
  new ApiError(400, 'token_invalid', 'This link is not valid: it was used, replaced, or never was one.')

/** 400 `token_expired`: a link that is merely too old. */
const expiredLink = () => new ApiError(400, 'token_expired', 'This link has expired. Ask for another.')

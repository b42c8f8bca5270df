import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context } from 'koa'
import type { Deps } from '../../deps.ts'
import type { Registered } from '../../identity/sign-in/sign-in-registered.ts'
import type { MailedLink } from '../../messages/links/mailed-links.ts'
import { clearCookie, cookieValue, writeCookie } from '../browser-session/cookie.ts'

/**
 * What a browser keeps from page to page of a sign-in. It is sealed in a cookie, so that the service stores nothing for a
 * page that is opened, and neither the person nor their browser's extensions read or change it.
 */
export interface Flow {
  /** The forms of the pages carry a code made of it, so that a form answered in another browser is refused. */
  id: string
  /** The address that was typed. */
  email?: string
  /** The language that was chosen (BCP 47). */
  locale?: string | undefined
  /** The tenant whose look the pages have. */
  tenantId?: string | undefined
  /** The person does not want to sign in by a connection. */
  wantsOtherWay?: boolean | undefined
  /** Where the sign-in leads that a mailed link goes on with. */
  returnTo?: string | null
  /** Of the mailed link that was asked for last. */
  nonce?: string
  /** The tokens of mailed links that were opened and not used yet. */
  links?: { [Name in MailedLink]?: string }
  /** The account that this browser made, and when (ms since 1970): its first proof goes on to the sign-in. */
  registered?: (Registered & { at: number }) | undefined
  /** The sign-in with another provider that waits here, by its id. */
  heldBy?: string | undefined
  /** The token of the mail that was opened for such a sign-in. */
  heldToken?: string | undefined
  /** A code was mailed for the sign-in: a page asks for it only then. */
  isCodeMailed?: boolean
  /** The id of the flow before, which took too long. */
  before?: string
}

type FlowDeps = Pick<Deps, 'config' | 'sealer' | 'clock'>

const cookie = { name: 'bailiwick-flow', sameSite: 'Lax', maxAge: null } as const
const purpose = 'sign-in-flow'

/** A flow ends so long after its last page (ms). */
const lifeMs = 900_000

/**
 * The flow of the request's browser; null without one, or when its cookie is not ours. In place of one that took too long, a
 * new one, which has only what has a time of its own.
 */
export function readFlow({ config, sealer, clock }: FlowDeps, http: Context): Flow | null {
  const value = cookieValue(config, http, cookie.name)
  if (!value) return null
  try {
    const opened = sealer.open(purpose, Buffer.from(value, 'base64url'), 'cookie')
    const { at, ...flow } = JSON.parse(opened) as Flow & { at: number }
    if (clock() - at <= lifeMs) return flow
    const { id: before, locale, tenantId, registered, returnTo = null } = flow
    return { ...newFlow(), before, locale, tenantId, registered, returnTo }
  } catch {
    return null
  }
}

export const newFlow = (): Flow => ({ id: randomBytes(16).toString('base64url') })

// Browsers drop a cookie whose name, value and attributes have more than 4,096 bytes (RFC 6265bis §5.6).
const maxValue = 3_900

/** Keeps the flow in the browser. A way back that is too long for a cookie is forgotten: the forms still have it. */
export function writeFlow({ config, sealer, clock }: FlowDeps, http: Context, flow: Flow): void {
  const sealed = (kept: Flow) =>
    sealer.seal(purpose, JSON.stringify({ ...kept, at: clock() }), 'cookie').toString('base64url')
  const whole = sealed(flow)
  const value = whole.length <= maxValue ? whole : sealed({ ...flow, returnTo: null })
  writeCookie(config, http, { ...cookie, value })
}

export const forgetFlow = ({ config }: Pick<FlowDeps, 'config'>, http: Context): void =>
  clearCookie(config, http, cookie)

/** The code for the forms of this browser. */
export const formToken = ({ sealer }: Pick<FlowDeps, 'sealer'>, { id }: Flow): string =>
  sealer.mac(purpose, id).toString('base64url')

/** Whether a form was made for a flow, by its id. */
export function isFormOf(
  { sealer }: Pick<FlowDeps, 'sealer'>,
  id: string,
  token: string | undefined,
): boolean {
  const given = Buffer.from(token ?? '', 'base64url')
  return sealer.macs(purpose, id).some((own) => own.length === given.length && timingSafeEqual(own, given))
}

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
  locale?: string
  /** Where the sign-in leads that a mailed link goes on with. */
  returnTo?: string | null
  /** Of the mailed link that was asked for last. */
  nonce?: string
  /** The tokens of mailed links that were opened and not used yet. */
  links?: { [Name in MailedLink]?: string }
  /** The account that this browser made, and when (ms since 1970): its first proof goes on to the sign-in. */
  registered?: (Registered & { at: number }) | undefined
}

type FlowDeps = Pick<Deps, 'config' | 'sealer'>

const cookie = { name: 'bailiwick-flow', sameSite: 'Lax', maxAge: null } as const
const purpose = 'sign-in-flow'

/** The flow of the request's browser; null without one, or when its cookie is not ours. */
export function readFlow({ config, sealer }: FlowDeps, http: Context): Flow | null {
  const value = cookieValue(config, http, cookie.name)
  if (!value) return null
  try {
    return JSON.parse(sealer.open(purpose, Buffer.from(value, 'base64url'), 'cookie')) as Flow
  } catch {
    return null
  }
}

export const newFlow = (): Flow => ({ id: randomBytes(16).toString('base64url') })

export function writeFlow({ config, sealer }: FlowDeps, http: Context, flow: Flow): void {
  const value = sealer.seal(purpose, JSON.stringify(flow), 'cookie').toString('base64url')
  writeCookie(config, http, { ...cookie, value })
}

export const forgetFlow = ({ config }: FlowDeps, http: Context): void => clearCookie(config, http, cookie)

/** The code for the forms of this browser. */
export const formToken = ({ sealer }: FlowDeps, { id }: Flow): string =>
  sealer.mac(purpose, id).toString('base64url')

/** Whether a form was made for this browser. */
export function isOwnForm({ sealer }: FlowDeps, { id }: Flow, token: string | undefined): boolean {
  const given = Buffer.from(token ?? '', 'base64url')
  return sealer.macs(purpose, id).some((own) => own.length === given.length && timingSafeEqual(own, given))
}

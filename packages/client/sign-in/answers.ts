import type { Session } from './session.ts'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

/** A path of the application: nothing that a browser reads as another host. */
export function ownPath(given: string | null): string {
  // A header has ASCII alone, and browsers leave control characters out.
  const path = (given ?? '').replace(/[^\0-\x7f]+/g, encodeURIComponent)
  return path.length <= 1_000 && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : '/'
}

export const plain = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
export const redirect = (location: string): Answer => ({
  status: 303,
  headers: { ...plain, location },
  body: '',
})
/** For scripts. */
export const json = (body: unknown): Answer => ({
  status: 200,
  headers: { ...plain, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
/** A browser's clock can be wrong: it gets the s that are left. */
export const forScripts = ({ userId, tenantId, claims, expiresAt }: Session) => {
  const expiresIn = Math.max(0, Math.round(expiresAt - Date.now() / 1000))
  return { userId, tenantId, claims, expiresIn }
}
/** Contains no scripts, and nothing from elsewhere. */
export const page = (status: number, body: string): Answer => ({
  status,
  headers: {
    ...plain,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  },
  body,
})

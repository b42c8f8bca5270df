import type { Session } from './session.ts'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

/** A path of the application: nothing that a browser reads as another host. */
export function ownPath(given: string | null): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers leave some of them out
  return given && given.length <= 1_000 && /^\/(?![/\\])[^\u0000-\u0020\u007f]*$/.test(given) ? given : '/'
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

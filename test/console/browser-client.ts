import { type Answer, claimsOf, type Service } from '../helpers/service.ts'

/** A browser without pages: it keeps the console's cookie, and sends the headers that the console's pages send. */
export interface Browser {
  /** The cookie as `name=value`; empty without one. */
  cookie: string
  /** The last Set-Cookie header. */
  set: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Signs in at `POST /console/session/`. */
  signIn(person: { email: string; password: string }, more?: Record<string, unknown>): Promise<Answer>
}

/** Headers of the console's own requests. */
export const fromConsole = { 'x-bailiwick-console': '1', 'sec-fetch-site': 'same-origin' }

/** Opens a browser at the service, or at `url`. Throws if an answer contains a token. */
export function openBrowser(service: Service, url = ''): Browser {
  const browser: Browser = {
    cookie: '',
    set: '',
    async call(method, path, body, headers = {}) {
      const answer = await service.call(method, `${url}${path}`, {
        ...(body !== undefined && { body }),
        headers: { ...fromConsole, ...(browser.cookie && { cookie: browser.cookie }), ...headers },
      })
      const set = answer.headers.get('set-cookie')
      if (set !== null) {
        browser.set = set
        browser.cookie = /^[^;]*=[^;]+/.exec(set)?.[0] ?? ''
      }
      assertNoToken(JSON.stringify(answer.body))
      return answer
    },
    signIn: ({ email, password }, more = {}) =>
      browser.call('POST', '/console/session/', { email, password, ...more }),
  }
  return browser
}

function assertNoToken(text: string): void {
  for (const [token] of text?.matchAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? [])
    throw new Error(`The answer contains a token: ${JSON.stringify(claimsOf(token))}`)
}

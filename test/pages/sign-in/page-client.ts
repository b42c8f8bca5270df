import { mailedLinks } from '../../../src/messages/links/mailed-links.ts'
import type { Service } from '../../helpers/service.ts'

/** What a browser without scripts sees of a page. */
export interface SeenPage {
  status: number
  /** Its path and query. */
  at: string
  headers: Headers
  text: string
  /** The heading. */
  title: string
  alert: string | null
  /** Where a page leads by itself. */
  refresh: string | null
}

/** Does what browser/passkey.js does with the form to `path`: `answer` makes a credential of the options. */
// biome-ignore lint/suspicious/noExplicitAny: options as JSON
type UsePasskey = (path: string, answer: (options: any) => unknown) => Promise<SeenPage>

/**
 * A browser without scripts: it keeps cookies, follows redirects within the pages, and sends the forms that a page has.
 * `visit` gives a page, and `send` fills in the first form that has these fields, or the one with this address.
 */
export function openPages(
  service: Pick<Service, 'url'>,
  { headers = {} }: { headers?: Record<string, string> } = {},
) {
  const cookies = new Map<string, string>()
  let current: SeenPage
  const keep = (answer: Response) => {
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const at = pair.indexOf('=')
      if (/Max-Age=0/.test(line)) cookies.delete(pair.slice(0, at))
      else cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
  }
  const ask = async (path: string, init: RequestInit = {}): Promise<SeenPage> => {
    const answer = await fetch(new URL(path, service.url), {
      ...init,
      redirect: 'manual',
      headers: {
        Accept: 'text/html',
        Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...headers,
        ...(init.headers as Record<string, string>),
      },
    })
    keep(answer)
    const to = answer.headers.get('location')
    if (answer.status === 303 && to && isOfPages(to)) {
      await answer.body?.cancel()
      return ask(to)
    }
    const text = await answer.text()
    if (answer.headers.get('content-type')?.startsWith('text/html')) assertLight(path, text)
    current = {
      status: answer.status,
      at: path,
      headers: answer.headers,
      text,
      title: unescaped(/<h1>([^<]*)/.exec(text)?.[1] ?? ''),
      alert: alertIn(text),
      refresh: unescaped(/http-equiv="refresh" content="0;url=([^"]*)/.exec(text)?.[1] ?? '') || to,
    }
    return current
  }
  const post = (path: string, fields: Record<string, string>, more: Record<string, string> = {}) =>
    ask(path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { 'Sec-Fetch-Site': 'same-origin', ...more },
    })
  const send = (fields: Record<string, string>, to?: string) => {
    const { action, hidden } = formOf(current.text, Object.keys(fields), to)
    return post(action, { ...hidden, ...fields })
  }
  const usePasskey: UsePasskey = async (path, answer) => {
    const { action, hidden } = formOf(current.text, ['credential'], path)
    const { text } = await post(`/sign-in/${path}/options/`, hidden)
    return post(action, { ...hidden, credential: JSON.stringify(answer(JSON.parse(text))) })
  }
  return { visit: ask, send, post, usePasskey, cookies, seen: () => current }
}

/** A page is small, and what it loads, and where its forms go, is of the service. */
function assertLight(path: string, page: string): void {
  const bytes = Buffer.byteLength(page)
  if (bytes > 30_000) throw new Error(`${path} has ${bytes} bytes`)
  const [foreign] = /<(?!a\b)\w[^>]*\s(?:src|href|action)="(?:\w+:)?\/\/[^>]*>/.exec(page) ?? []
  if (foreign) throw new Error(`${path} loads from another site: ${foreign}`)
}

/** The link of a mail to one of the pages, below the service. */
export function linkIn(mail: { text: string }, page: string): string {
  const found = new RegExp(`${page}\\?\\S*token=\\S+`).exec(mail.text)
  if (!found) throw new Error(`The mail has no link to ${page}:\n${mail.text}`)
  return found[0]
}

const isOfPages = (to: string) =>
  to.includes('/sign-in/') || Object.values(mailedLinks).some(({ page }) => to.split('?')[0]!.endsWith(page))

const unescaped = (text: string) =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name]!,
  )

const alertIn = (text: string) => {
  const found = /role="alert">([^<]*)/.exec(text)?.[1]
  return found === undefined ? null : unescaped(found)
}

/** Where the first form with these fields goes, and its hidden fields. */
export function formOf(page: string, names: string[], to?: string) {
  for (const [, attributes = '', content = ''] of page.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)) {
    const action = unescaped(/action="([^"]*)"/.exec(attributes)?.[1] ?? '')
    if (to !== undefined && !action.endsWith(to.startsWith('/') ? to : `/sign-in/${to}/`)) continue
    if (!names.every((name) => content.includes(`name="${name}"`))) continue
    const hidden = [...content.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    return {
      action,
      hidden: Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, unescaped(value)])),
    }
  }
  throw new Error(`The page has no form with ${names.join(', ')} ${to ?? ''}:\n${page}`)
}

import { readFileSync } from 'node:fs'
import type { Context } from 'koa'
import { asset } from '../asset.ts'
import { brandFinder } from './brand.ts'
import type { PageDeps } from './calls.ts'
import { documentOf, headers, type Look } from './layout.ts'
import { visitOf } from './open-visit.ts'
import type { Visit } from './visit.ts'

type Written = Parameters<typeof documentOf>[3]

/** Shows a page that is none of `/sign-in/`, in their look. */
export function pageWriter(deps: PageDeps): WritePage {
  const { look } = files(deps)
  return async (http, of, status) => {
    const visit = visitOf(deps, http, {})
    await write(http, look, visit, of(visit), status)
  }
}

export type WritePage = (http: Context, of: (visit: Visit) => Written, status?: number) => Promise<void>

/** The files of every page, and the look that they make. */
export function files(deps: PageDeps) {
  const style = fromBrowser('/sign-in/style.css', 'sign-in.css')
  const script = fromBrowser('/sign-in/passkey.js', 'passkey.js')
  const look: Look = { style: style.href, script: script.href, brandOf: brandFinder(deps) }
  return { style, script, look }
}

const fromBrowser = (path: string, name: string) =>
  asset(path, readFileSync(new URL(`../browser/${name}`, import.meta.url)))

/** Answers with a page. */
export async function write(
  http: Context,
  look: Look,
  visit: Visit,
  shown: Written,
  status = 200,
): Promise<void> {
  http.status = status
  http.set(headers)
  http.type = 'html'
  http.body = documentOf(look, visit, await look.brandOf(visit), shown).source
}

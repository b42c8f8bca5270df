import type { Context } from 'koa'
import type { ApiError } from '../../errors.ts'
import type { Texts } from '../../languages/en.ts'
import type { Html } from '../../text/html.ts'
import type { PageRequest } from './brand.ts'
import type { Flow } from './flow.ts'

/** One request to the pages. */
export interface Visit {
  http: Context
  texts: Texts['pages']
  /** Whether people sign in on these pages (`HOSTED_PAGES`); else pages of mailed links alone are served. */
  isHosted: boolean
  /** BCP 47 */
  language: string
  /** The path of PUBLIC_URL, without a slash at the end. */
  prefix: string
  flow: Flow
  /** Keeps more in the flow. */
  keep(more: Partial<Flow>): void
  formToken: string
  /** Where the sign-in leads to in the end; null: nowhere else. */
  returnTo: string | null
  /** The tenant that the application names, or the address of the page; null: none. */
  tenantId: string | null
  /** The request of an application that was found at `returnTo`. */
  request?: { at: string; found: Promise<PageRequest | null> }
  /** What the address names in the place of the page's parameters. */
  params: Readonly<Record<string, string>>
  /** The fields of the form that was sent; none for a GET. */
  form: Readonly<Record<string, string>>
  /** Why the form was refused. */
  refusal: ApiError | null
}

/** What a visit gives. */
export type Shown =
  | { kind: 'page'; title: string; content: Html; status?: number }
  /** Another page, by its path. */
  | { kind: 'go'; to: string }
  /** The end of the sign-in, or of the session: a path of the service. `title`: of the page in between, after a form. */
  | { kind: 'leave'; to: string; title?: string }
  /** A page of another site, such as one where the person signs in. */
  | { kind: 'abroad'; to: string; title: string; lead: string; aside?: Html }
  /** JSON for the script of a page. */
  | { kind: 'data'; body: object }

/** A page. A refused form is shown again, with what was typed. */
export interface SignInPage {
  /**
   * Below `/sign-in/`, without slashes; empty for `/sign-in/` itself. With a leading `/`: below the service. A part with a
   * leading `:` is a parameter.
   */
  path: string
  show(visit: Visit): Promise<Shown> | Shown
  /** Also takes a form of a flow that took too long. */
  takesLate?: true
  /**
   * Takes a form of another site, with which the browser sends no cookie. It has no code, so the page only notes what it says, and
   * gives the path where the browser goes on with its cookie.
   */
  takesForeign?(visit: Visit): Promise<string>
  /** Takes the form of the page. Throws its refusal. */
  submit?(visit: Visit): Promise<Shown>
}

/** From here on, the pages have the look of this tenant. */
export function inNameOf({ flow, keep }: Visit, tenantId: string): void {
  if (flow.tenantId !== tenantId) keep({ tenantId })
}

export const page = (title: string, content: Html): Shown => ({ kind: 'page', title, content })
export const data = (body: object): Shown => ({ kind: 'data', body })
export const go = (to: string): Shown => ({ kind: 'go', to })

/** The sign-in is done: it leads to where the person came from, else shows who is signed in. */
export const signedIn = ({ returnTo }: Visit): Shown => (returnTo ? { kind: 'leave', to: returnTo } : go(''))

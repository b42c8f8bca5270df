import type { Deps } from '../../deps.ts'
import type { ApiError, FieldError } from '../../errors.ts'
import type { Texts } from '../../languages/en.ts'
import { type Html, type HtmlValue, html } from '../../text/html.ts'
import type { Visit } from './visit.ts'

/** The address of a page, which keeps where the sign-in leads to. A path with a leading `/` is not below `/sign-in/`. */
export function pageUrl({ prefix, returnTo }: Pick<Visit, 'prefix' | 'returnTo'>, path: string): string {
  if (path.startsWith('/')) return `${prefix}${path}`
  const query = returnTo ? `?${new URLSearchParams({ return_to: returnTo })}` : ''
  return `${prefix}/sign-in/${path && `${path}/`}${query}`
}

export const link = (visit: Visit, path: string, words: string): Html =>
  html`<a href="${pageUrl(visit, path)}">${words}</a>`

/** The next step of a page that asks nothing. */
export const nextStep = (visit: Pick<Visit, 'prefix' | 'returnTo'>, path: string, words: string): Html =>
  html`<p><a class="button" href="${pageUrl(visit, path)}">${words}</a></p>`

/** A form that posts to a page. */
export const form = (
  visit: Visit,
  path: string,
  content: HtmlValue,
  { more = null }: { more?: Html | null } = {},
): Html => html`
<form method="post" action="${pageUrl({ ...visit, returnTo: null }, path)}"${more}>
<input type="hidden" name="form_token" value="${visit.formToken}">
${visit.returnTo ? html`<input type="hidden" name="return_to" value="${visit.returnTo}">\n` : null}${
  visit.tenantId ? html`<input type="hidden" name="organization" value="${visit.tenantId}">\n` : null
}${content}
</form>`

export const button = (words: string, { quiet = false, name = '', value = '' } = {}): Html =>
  html`<button${quiet ? html` class="quiet"` : null}${name ? html` name="${name}" value="${value}"` : null}>${words}</button>`

/** Leads to each provider of the installation, in the order of the setting; null: there are none. */
export const providerButtons = ({ config }: Pick<Deps, 'config'>, visit: Visit): Html | null =>
  config.SOCIAL_PROVIDERS.length > 0
    ? html`<ul class="providers">
${config.SOCIAL_PROVIDERS.map(
  ({ id, name }) =>
    html`<li><a class="button quiet" href="${pageUrl(visit, `with/${id}`)}">${visit.texts.provider.goOn(name)}</a></li>\n`,
)}</ul>`
    : null

interface Field {
  name: string
  label: string
  type?: 'text' | 'email' | 'password'
  autocomplete: string
  /** Further attributes, in our words only. */
  more?: Html
  hint?: string
  value?: string
  isOptional?: boolean
}

/** A field with its label, hint and fault. Passwords and codes are never shown again. */
export function field(
  visit: Visit,
  { name, label, type = 'text', autocomplete, more, hint, value, isOptional = false }: Field,
): Html {
  const fault = faultOf(visit, name)
  const secret = type === 'password' || autocomplete === 'one-time-code'
  const shown = value ?? (secret ? '' : (visit.form[name] ?? ''))
  const described = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(' ')
  return html`<label for="${name}">${label}${isOptional ? html` <small>${visit.texts.optional}</small>` : null}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${shown}"${isOptional ? null : html` required=""`}${
    described ? html` aria-describedby="${described}"` : null
  }${fault ? html` aria-invalid="true"` : null}${more ? html` ${more}` : null}>
${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>\n` : null}${
  fault ? html`<p class="fault" id="${name}-fault">${fault}</p>\n` : null
}`
}

/** Why a form was refused, unless its fields say it. */
export function refusalOf(visit: Visit, ...fields: string[]): Html | null {
  const { texts, refusal } = visit
  if (!refusal) return null
  const isTold = refusal.errors.length > 0 && refusal.errors.every(({ field }) => fields.includes(field))
  return isTold
    ? null
    : html`<p class="alert" role="alert">${sentenceOf(texts, refusal)}</p>\n${toOrganisation(visit, refusal)}`
}

/** Leads to the sign-in of an organisation that lets its members in by its connections alone. */
function toOrganisation({ texts, returnTo }: Visit, { code, members: { url } }: ApiError): Html | null {
  if (code !== 'sso_required') return null
  const to = new URL(String(url))
  if (returnTo) to.searchParams.set('return_to', returnTo)
  return html`<p><a class="button" href="${to.pathname}${to.search}">${texts.realm.toIt}</a></p>\n`
}

function faultOf({ texts, refusal }: Visit, name: string): string | null {
  const fault = refusal?.errors.find(({ field }) => field === name)
  return fault ? faultWords(texts, fault) : null
}

const faultWords = ({ faults, otherFault }: Texts['pages'], { field, code, detail }: FieldError): string =>
  faults[`${field}.${code}`] ?? faults[code] ?? otherFault(detail)

/** The words for a refusal in the reader's language. */
export function sentenceOf(texts: Texts['pages'], { code, headers, message, errors }: ApiError): string {
  if (errors.length > 0) return errors.map((fault) => faultWords(texts, fault)).join(' ')
  const wait = Number(headers['Retry-After'] ?? 0)
  const words = texts.refusals[code]
  return words ? words(wait) : texts.otherRefusal(message)
}

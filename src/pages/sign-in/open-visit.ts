import type { Context } from 'koa'
import { pathPrefix } from '../../http/path-prefix.ts'
import { chooseLanguage } from '../../languages/choose-language.ts'
import type { PageDeps } from './calls.ts'
import { formToken, newFlow, readFlow, writeFlow } from './flow.ts'
import { returnPath } from './return-to.ts'
import type { Visit } from './visit.ts'

/** A request to the pages, with the fields of its form. */
export function visitOf(deps: PageDeps, http: Context, form: Record<string, string>): Visit {
  let flow = readFlow(deps, http) ?? newFlow()
  const keep: Visit['keep'] = (more) => {
    flow = { ...flow, ...more }
    visit.flow = flow
    writeFlow(deps, http, flow)
  }
  const asked = http.query.ui_locales
  const locale = typeof asked === 'string' ? asked : flow.locale
  const texts = chooseLanguage(locale, http.get('accept-language'), deps.config.DEFAULT_LANGUAGE)
  const query = http.query.return_to
  const visit: Visit = {
    http,
    isHosted: deps.config.HOSTED_PAGES,
    texts: texts.pages,
    language: texts.code,
    prefix: pathPrefix(deps.publicUrl()),
    flow,
    keep,
    formToken: formToken(deps, flow),
    returnTo: returnPath(form.return_to ?? (typeof query === 'string' ? query : undefined)),
    tenantId: null,
    params: http.params ?? {},
    form,
    refusal: null,
  }
  if (typeof asked === 'string' && asked !== flow.locale) keep({ locale: asked.slice(0, 64) })
  return visit
}

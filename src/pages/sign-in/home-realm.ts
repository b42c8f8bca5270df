import { isUuid } from '../../crypto/uuid.ts'
import { readAsSystem } from '../../database/executor/read.ts'
import {
  type ConnectionWay,
  findTenantOfConnection,
  listConnectionWays,
} from '../../identity/sign-in/realm-store.ts'
import { normaliseEmail } from '../../messages/mail/email-address.ts'
import { listTenantsLedTo } from '../../tenancy/domains/store.ts'
import { html } from '../../text/html.ts'
import { requestIn } from './brand.ts'
import type { PageDeps } from './calls.ts'
import { link, pageUrl } from './elements.ts'
import { go, page, type Shown, type SignInPage, type Visit } from './visit.ts'

// Where people of an organisation sign in ("home realm discovery"). It looks at domains and connections, and at no person: so a page says
// the same, in the same time, for people who are known here and for those who are not. Connections show where their tenant was
// named, or an address of a domain that leads to them.

const reason = 'a sign-in looks for the connections of an organisation before its person is known'

const waysOf = ({ db }: PageDeps, tenantIds: readonly string[]) =>
  readAsSystem(db, reason, (read) => listConnectionWays(read, tenantIds))

/** The connections that the address page offers, in the name of a tenant: those of one whose `sso` is on. */
export const offeredBy = async (deps: PageDeps, { tenantId }: Visit): Promise<readonly ConnectionWay[]> =>
  tenantId === null ? [] : (await waysOf(deps, [tenantId])).filter(({ sso }) => sso !== 'off')

/**
 * Leads to the connection of an organisation, or asks which; null: the person goes on here. `typed`: the address that the person gave; without
 * one the hints of an application count.
 */
export async function leadToRealm(deps: PageDeps, visit: Visit, typed: string | null): Promise<Shown | null> {
  if (visit.flow.wantsOtherWay) return null
  const ways = await findWays(deps, visit, typed)
  const [way, ...others] = ways
  if (!way) return null
  if (others.length > 0) return chooser(visit, ways)
  const { provider } = visit.texts
  // A form leads to another site only over a page.
  return visit.returnTo !== null && visit.http.method === 'POST'
    ? {
        kind: 'abroad',
        to: pageUrl(visit, `with/${way.id}`),
        title: provider.leaving(way.name),
        lead: provider.leavingLead,
        aside: otherWay(visit),
      }
    : go(`with/${way.id}`)
}

async function findWays(
  deps: PageDeps,
  visit: Visit,
  typed: string | null,
): Promise<readonly ConnectionWay[]> {
  const { tenantId } = visit
  const request = await requestIn(deps, visit)
  const hinted =
    typed === null && request?.connection ? await findHinted(deps, visit, request.connection) : []
  if (hinted.length > 0) return hinted
  const address = normaliseEmail(typed ?? request?.loginHint ?? '')
  const leading = address ?? (typed === null ? domainIn(request?.domainHint) : null)
  const led = leading ? await findLed(deps, leading) : []
  const ofPage = led.filter((way) => way.tenant_id === tenantId)
  if (ofPage.length > 0) return ofPage
  if (tenantId === null) return led
  return (await waysOf(deps, [tenantId])).filter(({ sso }) => sso === 'required')
}

const domainIn = (hint = ''): string | null => (/^[\da-z.-]{1,253}$/i.test(hint) ? hint.toLowerCase() : null)

/** The connection that an application names, unless it is of another tenant than the application's. */
async function findHinted(deps: PageDeps, { tenantId }: Visit, id: string) {
  const of = isUuid(id)
    ? await readAsSystem(deps.db, reason, (read) => findTenantOfConnection(read, id))
    : null
  if (of === null || (tenantId !== null && of !== tenantId)) return []
  return (await waysOf(deps, [of])).filter((way) => way.id === id)
}

async function findLed(deps: PageDeps, addressOrDomain: string) {
  const tenantIds = await readAsSystem(deps.db, reason, (read) => listTenantsLedTo(read, addressOrDomain))
  return tenantIds.length > 0 ? waysOf(deps, tenantIds) : []
}

const chooser = (visit: Visit, ways: readonly ConnectionWay[]): Shown =>
  page(
    visit.texts.realm.title,
    html`<p>${visit.texts.realm.lead}</p>
${connectionButtons(visit, ways)}
${otherWay(visit)}`,
  )

/** Leads to each connection; null: there are none. */
export const connectionButtons = (visit: Visit, ways: readonly ConnectionWay[]) =>
  ways.length > 0
    ? html`<ul class="providers">
${ways.map(
  ({ id, name }) =>
    html`<li><a class="button quiet" href="${pageUrl(visit, `with/${id}`)}">${visit.texts.provider.goOn(name)}</a></li>\n`,
)}</ul>`
    : null

/** For people who do not sign in by a connection, and for owners when it fails. Everyone else is told so after the right password. */
export const otherWay = (visit: Visit) =>
  html`<p class="aside">${link(visit, 'other-way', visit.texts.realm.other)}</p>`

/** From here on, no page leads to a connection by itself. */
export const otherWayPage: SignInPage = {
  path: 'other-way',
  show(visit) {
    visit.keep({ wantsOtherWay: true })
    return go(visit.flow.email ? 'password' : 'address')
  },
}

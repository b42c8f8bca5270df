import { isUuid } from '../../crypto/uuid.ts'
import { readAsSystem } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { Brand } from '../../messages/mail/brand.ts'
import { findBrand, findTenantBySlug } from '../../tenancy/tenants/brand-store.ts'
import { type BrandingRow, brandOver } from '../../tenancy/tenants/branding.ts'
import { inNameOf, type Visit } from './visit.ts'

const reason = 'the pages have the look of a tenant before its person is known'

/** What the pages know of the request of an application that they answer. */
export interface PageRequest {
  /** The name and look of the application. */
  name: string
  branding: BrandingRow | null
  /** The tenant of the application; null: it is one of all tenants. */
  tenantId: string | null
  /** The id or slug of the tenant that the request names. */
  organization: string | undefined
  /** Where its person signs in: an id of a connection, an address, a domain. */
  connection: string | undefined
  loginHint: string | undefined
  domainHint: string | undefined
  /** It asks for a sign-in of just now: `prompt=login`, or `max_age`. */
  isFresh: boolean
}

/** The request of an application that is at this address; null: it is over, or the address is another. */
export type RequestOf = (returnTo: string) => Promise<PageRequest | null>

interface RequestDeps {
  requestOf: RequestOf
}

/** The request of an application that a page answers. It is read once. */
export function requestIn({ requestOf }: RequestDeps, visit: Visit): Promise<PageRequest | null> {
  const { returnTo } = visit
  if (returnTo === null) return Promise.resolve(null)
  if (visit.request?.at !== returnTo) visit.request = { at: returnTo, found: requestOf(returnTo) }
  return visit.request.found
}

/** Makes the step that gives a page its brand: of the application whose request it answers, over that of the tenant. */
export const brandFinder =
  (deps: Pick<Deps, 'db'> & RequestDeps) =>
  async (visit: Visit): Promise<Brand | null> => {
    const { tenantId } = visit.flow
    const [below, own] = await Promise.all([
      tenantId === undefined
        ? null
        : readAsSystem(deps.db, reason, (read) => findBrand(read, tenantId, visit.prefix)),
      requestIn(deps, visit),
    ])
    return own?.branding ? brandOver(below, { ...own, branding: own.branding }) : below
  }

/**
 * Notes the tenant in whose name the pages are: that of the application, else the one that its request or the address of the page names
 * (`organization`, an id or a slug; an unknown one changes nothing).
 */
export async function nameTenant(deps: Pick<Deps, 'db'> & RequestDeps, visit: Visit): Promise<void> {
  const request = await requestIn(deps, visit)
  const asked = request?.organization ?? visit.form.organization ?? visit.http.query.organization
  visit.tenantId = request?.tenantId ?? (await findNamed(deps, asked))
  if (visit.tenantId !== null) inNameOf(visit, visit.tenantId)
}

async function findNamed({ db }: Pick<Deps, 'db'>, organization: unknown): Promise<string | null> {
  if (typeof organization !== 'string' || !/^[\da-z-]{1,63}$/i.test(organization)) return null
  return isUuid(organization)
    ? organization
    : readAsSystem(db, reason, (read) => findTenantBySlug(read, organization.toLowerCase()))
}

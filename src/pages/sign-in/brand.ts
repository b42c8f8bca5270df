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
  /** It asks for a sign-in of just now: `prompt=login`, or `max_age`. */
  isFresh: boolean
}

/** The request of an application that is at this address; null: it is over, or the address is another. */
export type RequestOf = (returnTo: string) => Promise<PageRequest | null>

/** Makes the step that gives a page its brand: of the application whose request it answers, over that of the tenant. */
export const brandFinder =
  ({ db, requestOf }: Pick<Deps, 'db'> & { requestOf: RequestOf }) =>
  async ({ flow: { tenantId }, prefix, returnTo }: Visit): Promise<Brand | null> => {
    const [below, own] = await Promise.all([
      tenantId === undefined ? null : readAsSystem(db, reason, (read) => findBrand(read, tenantId, prefix)),
      returnTo ? requestOf(returnTo) : null,
    ])
    return own?.branding ? brandOver(below, { ...own, branding: own.branding }) : below
  }

/** `organization`, an id or a slug, says whose look the pages have. It changes nothing else, and an unknown one nothing. */
export async function lookOfQuery({ db }: Pick<Deps, 'db'>, visit: Visit): Promise<void> {
  const { organization } = visit.http.query
  if (typeof organization !== 'string' || !/^[\da-z-]{1,63}$/i.test(organization)) return
  const id = isUuid(organization)
    ? organization
    : await readAsSystem(db, reason, (read) => findTenantBySlug(read, organization.toLowerCase()))
  if (id) inNameOf(visit, id)
}

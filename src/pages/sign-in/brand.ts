import { isUuid } from '../../crypto/uuid.ts'
import { readAsSystem } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { Brand } from '../../messages/mail/brand.ts'
import { findBrand, findTenantBySlug } from '../../tenancy/tenants/brand-store.ts'
import { inNameOf, type Visit } from './visit.ts'

const reason = 'the pages have the look of a tenant before its person is known'

/** Makes the step that gives a page the brand of the tenant that it is about. */
export const brandFinder =
  ({ db }: Pick<Deps, 'db'>) =>
  async ({ flow: { tenantId }, prefix }: Visit): Promise<Brand | null> =>
    tenantId === undefined ? null : readAsSystem(db, reason, (read) => findBrand(read, tenantId, prefix))

/** `organization`, an id or a slug, says whose look the pages have. It changes nothing else, and an unknown one nothing. */
export async function lookOfQuery({ db }: Pick<Deps, 'db'>, visit: Visit): Promise<void> {
  const { organization } = visit.http.query
  if (typeof organization !== 'string' || !/^[\da-z-]{1,63}$/i.test(organization)) return
  const id = isUuid(organization)
    ? organization
    : await readAsSystem(db, reason, (read) => findTenantBySlug(read, organization.toLowerCase()))
  if (id) inNameOf(visit, id)
}

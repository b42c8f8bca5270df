import type { Tx } from '../../database/executor/transaction.ts'
import type { SetUpTenant } from '../../tenancy/tenants/set-up-tenant.ts'
import { giveRules } from './give-rules.ts'
import { type InstalledRules, lockManifests, readInstalledRules, readManifestRevision } from './store.ts'

/** Gives new tenants the rules of the manifests, which it reads again only when they have changed. */
export function openTenantSetUp(): SetUpTenant {
  let known: InstalledRules = { revision: 0, manifests: [] }
  const current = async (tx: Tx) => {
    // Asked for together they are sent together; the second still runs when the first has the lock.
    const [, revision] = await Promise.all([
      lockManifests(tx, 'creator of a tenant'),
      readManifestRevision(tx),
    ])
    if (revision !== known.revision) known = await readInstalledRules(tx)
    return known
  }
  return async (tx, tenant) => {
    const rules = await current(tx)
    if (rules.revision === 0) return
    // A new tenant has no policies of its own, so none has older versions.
    const given = await giveRules(tx, rules, { ...tenant, maxVersions: 1 })
    if (!('conflicts' in given) || given.conflicts.length > 0)
      throw new Error('A new tenant has no names and policies that can conflict with a manifest')
  }
}

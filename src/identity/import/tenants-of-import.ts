import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listRolesNamed, roleNameKey } from '../../tenancy/roles/store.ts'
import { isDomainAllowed } from '../../tenancy/tenants/email-domains.ts'
import { listTenantsNamed } from '../../tenancy/tenants/store.ts'
import { LineFault, type NumberedRow } from './import-row.ts'

/** A membership that a row names, with the ids of its tenant and roles. */
export interface Joining {
  tenantId: string
  roles: readonly { id: string; name: string }[]
  externalId: string | null
}

/**
 * What finds the tenants and roles that rows name, each of them once. It throws {@link LineFault} for an unknown one, and
 * for an address that the tenant does not accept.
 */
export function joiningsOf({ db }: { db: Pick<Deps['db'], 'system'> }) {
  const find = <T>(work: (tx: Tx) => Promise<T>) =>
    asSystem(db, 'an operator imports people into any tenant', work)
  const tenantNamed = once(async (text: string) => {
    const named = await find((tx) => listTenantsNamed(tx, text))
    const tenant = named.find((one) => one.is_exact)
    return tenant ? { id: tenant.id, domains: tenant.settings.allowed_email_domains } : null
  })
  const roleNamed = once(async (both: string) => {
    const [tenantId, name] = JSON.parse(both) as [string, string]
    const [role] = await find((tx) => listRolesNamed(tx, tenantId, [name]))
    return role ?? null
  })
  return async ({ line, row: { email, memberships } }: NumberedRow): Promise<readonly Joining[]> =>
    Promise.all(
      memberships.map(async ({ tenant: text, roles, external_id: externalId = null }, index) => {
        const at = `memberships.${index}`
        const tenant = await tenantNamed(text.toLowerCase())
        if (!tenant)
          throw new LineFault(line, `${at}.tenant`, 'there is no tenant with this id or slug', 'unknown')
        if (!isDomainAllowed(tenant.domains, email))
          throw new LineFault(
            line,
            'email',
            'the tenant does not accept addresses of this domain',
            'email_domain_not_allowed',
          )
        const found = await Promise.all(
          [...new Set(roles.map(roleNameKey))].map((name) => roleNamed(JSON.stringify([tenant.id, name]))),
        )
        const missing = found.indexOf(null)
        if (missing >= 0)
          throw new LineFault(line, `${at}.roles`, 'the tenant has no role with this name', 'unknown')
        return { tenantId: tenant.id, roles: found.filter((role) => role !== null), externalId }
      }),
    )
}

function once<T>(work: (text: string) => Promise<T>): (text: string) => Promise<T> {
  const known = new Map<string, Promise<T>>()
  return (text) => {
    const begun = known.get(text) ?? work(text)
    known.set(text, begun)
    return begun
  }
}

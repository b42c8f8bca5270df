import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import type { Caller } from '../../request/caller.ts'
import { deleteLogo, saveLogo } from './brand-store.ts'
import { type LogoBody, logoOf, logoRow } from './branding.ts'
import type { TenantRow } from './store.ts'
import { updateTenant } from './update-tenant.ts'

/** Changes the logo of the tenant of the path, or takes it away. Events and audit are those of its settings. */
export async function changeLogo(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  tenant: TenantRow,
  { body, ifMatch }: { body: LogoBody | null; ifMatch: Versions },
): Promise<TenantRow> {
  const logo = body && logoOf(body)
  const settings = logo || tenant.settings.logo ? { logo: logo && logoRow.parse(logo) } : {}
  const changed = await updateTenant(tx, deps, caller, tenant, { body: { settings }, ifMatch })
  if (logo) saveLogo(tx, tenant.id, logo)
  else deleteLogo(tx, tenant.id)
  return changed
}

import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { closePage, type ListContext, type listQuery, openPage } from '../../platform/http/lists.ts'
import { showDevice } from './device-schemas.ts'
import { countDevices, listDevices } from './store.ts'

/** A page of the caller's devices, oldest first. */
export async function pageOfDevices(deps: Deps, actor: Actor, query: z.output<typeof listQuery>) {
  const { userId, tokenTenantId: tenantId } = actor
  const { sealer } = deps
  const path = '/api/v1/auth/otp/devices'
  const list: ListContext = { sealer, publicUrl: deps.publicUrl(), path, tenantId, query }
  const page = openPage(list)
  const [rows, count] = await inTenant(deps.db, actor, async (tx) => [
    await listDevices(tx, userId, page),
    await countDevices(tx, userId),
  ])
  return closePage(list, page, rows, count, (row) => ({ at: row.created_at, id: row.id }), showDevice)
}

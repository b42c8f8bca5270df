import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { toJsonDevice } from './device-schemas.ts'
import { countDevices, type DeviceRow, deviceList, listDevices } from './store.ts'

/** A page of the caller's devices, oldest first. */
export function pageOfDevices(deps: Deps, caller: Caller, query: ListQuery) {
  const { userId } = caller
  const now = deps.clock()
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listDevices(tx, userId, page),
      count: await countDevices(tx, userId, page),
    }))
  const show = (row: DeviceRow) => toJsonDevice(row, now)
  return answerPage(deps, caller, deviceList, { path: '/api/v1/auth/otp/devices', query }, load, show)
}

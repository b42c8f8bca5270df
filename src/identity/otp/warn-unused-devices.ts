import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { hasConfirmedDevices } from './store.ts'

/** Logs a warning if OTP_ENABLED is off but people have confirmed devices, which are then never asked for. */
export async function warnOfUnusedDevices({ config, db, log }: Deps): Promise<void> {
  if (config.OTP_ENABLED) return
  if (await asSystem(db, 'devices of people in all tenants are counted', hasConfirmedDevices))
    log.warn('OTP_ENABLED is off: people who set up a second factor sign in by password alone')
}

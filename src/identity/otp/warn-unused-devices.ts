import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { hasConfirmedDevices } from './store.ts'

/** Logs a warning where OTP_ENABLED is off while people have confirmed devices: nobody is asked for them. */
export async function warnOfUnusedDevices({ config, db, log }: Deps): Promise<void> {
  if (config.OTP_ENABLED) return
  if (await asSystem(db, 'devices of people of all tenants are asked for', hasConfirmedDevices))
    log.warn('OTP_ENABLED is off: people who set up a second factor sign in by password alone')
}

import type { Logger } from 'pino'
import type { Config } from '../src/config.ts'
import type { Sealer } from '../src/platform/crypto/seal.ts'
import type { Databases } from '../src/platform/db/transaction.ts'
import type { MailTransport } from '../src/platform/mail/transport.ts'

/** What actors are handed. `config.DATABASE_WORKER_URL` is set: queues and the relay's LISTEN connect by it. */
export interface WorkerDeps {
  config: Config
  log: Logger
  /** ms since 1970 */
  clock: () => number
  db: Pick<Databases, 'worker'>
  sealer: Sealer
  mail: MailTransport
}

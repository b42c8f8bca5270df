import type { Adapter, AdapterPayload } from 'oidc-provider'
import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { readClientId } from '../clients/client-id.ts'
import type { RequestUnit } from '../request-unit.ts'
import { deleteModel, keyOfModel, tenantOf } from '../store.ts'
import { decideDevice, findDevice, insertDevice, notePoll } from './store.ts'
import { userCodeHashes } from './user-code.ts'

// The device waits with one code (RFC 8628), and a person enters another one. The pages name the row by its key, which is no
// code: it opens nothing at the token endpoint.

const reason = 'a device waits for a person'
const graceMs = 10_000
/** Devices ask every 5 s. A network makes that a little less. */
const intervalMs = 4_500

/** How long a person has to enter the code. In s. */
export const deviceSeconds = 600

/** What the pages name a row by. */
export const nameOfRow = (idHash: Buffer): string => `row.${idHash.toString('hex')}`

interface Asked {
  /** The endpoint that the library answers. */
  route(): string | undefined
  /** The client of the request, and the tenant where its person signs in; undefined outside of one. */
  clientId(): string | undefined
  tenantId(): string | undefined
  /** What the request of the token endpoint collects. */
  unit(): RequestUnit | null
  /** The error of a device that asks too often. */
  slowDown(): Error
}

/** The storage of device codes. */
export function deviceCodes(
  { db, clock, sealer }: Pick<Deps, 'db' | 'clock' | 'sealer'>,
  { route, clientId, tenantId, unit, slowDown }: Asked,
): Adapter {
  const isOver = (createdAt: number) => createdAt + deviceSeconds * 1000 <= clock()

  return {
    async upsert(id, { jti: _jti, userCode, ...payload }) {
      const at = clock()
      if (userCode !== undefined) {
        const client = readClientId(String(payload.clientId))!
        const [userCodeHash] = userCodeHashes(sealer, userCode)
        // Kept for as long again, so that the device learns that its code has expired.
        const expiresAt = at + 2 * deviceSeconds * 1000
        await asSystem(db, reason, async (tx) =>
          insertDevice(tx, { id, userCodeHash: userCodeHash!, client, payload, at, expiresAt }),
        )
        return
      }
      // A fault of ours decides nothing.
      if (payload.error === 'server_error') return
      const since = at - deviceSeconds * 1000
      const isDecided = await asSystem(db, reason, (tx) =>
        decideDevice(tx, { id, payload, tenantId: tenantOf({ tenantId: tenantId() }), since }),
      )
      if (!isDecided) throw new ApiError(400, 'request_over', 'This code was used already, or is too old.')
    },

    async find(id) {
      if (id.startsWith('row.') && route() !== 'device_resume') return undefined
      const row = await readAsSystem(db, reason, (read) => findDevice(read, id, clock()))
      // To other clients it does not exist.
      const isForeign = route() === 'token' && row?.payload.clientId !== clientId()
      if (!row || isForeign) return undefined
      const payload = { ...row.payload, jti: id } as AdapterPayload
      if (row.consumed_at !== null)
        return row.consumed_at > clock() - graceMs ? undefined : { ...payload, consumed: 1 }
      if (isOver(row.created_at)) return { ...payload, exp: 0 }
      const isWaiting = !payload.accountId && !payload.error && route() === 'token'
      const since = clock() - intervalMs
      if (isWaiting && !(await asSystem(db, reason, (tx) => notePoll(tx, { id, at: clock(), since }))))
        throw slowDown()
      return payload
    },

    /** What it gives is written with it: of many requests at a time one wins. */
    async consume(id) {
      const row = await readAsSystem(db, reason, (read) => findDevice(read, id, clock()))
      Object.assign(unit()!, {
        consumed: {
          key: keyOfModel('DeviceCode', id),
          sessionId: row?.session_id ?? null,
          isRepeat: row?.consumed_at !== null,
          successor: null,
        } satisfies RequestUnit['consumed'],
      })
    },

    destroy: (id) => asSystem(db, reason, async (tx) => deleteModel(tx, 'DeviceCode', id)),
    /** The grant takes its rows along. */
    async revokeByGrantId() {},
    findByUid: unused,
    /** Our own page asks for the code. */
    findByUserCode: unused,
  }
}

const unused = async () => {
  throw new Error('The pages of the service find a device by its code')
}

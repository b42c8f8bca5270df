import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { whyNotCalled } from '../call-upstream.ts'
import { checkedMapping } from './check-mapping.ts'
import { type NewConnection, settingsOf } from './connection-schemas.ts'
import { type ConnectionKey, type ConnectionRow, countConnections, insertConnection } from './store.ts'

const maxConnections = 20

/** Throws 400 on `oidc.issuer` for a URL that the service does not call. */
export function assertCallable({ config }: Pick<Deps, 'config'>, issuer: string): void {
  const fault = whyNotCalled(issuer, config)
  if (fault) throw invalidField('oidc.issuer', fault)
}

/** The client secret of a connection, sealed. */
export const sealSecret = (
  { sealer }: Pick<Deps, 'sealer'>,
  { tenantId, id }: ConnectionKey,
  secret: string,
) => sealer.seal('connection', secret, `${tenantId}.${id}`)

/** Makes a draft. 400 and 403 as {@link checkedMapping}, 409 `limit_reached`. */
export async function createConnection(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { oidc, mapping, ...body }: NewConnection,
): Promise<ConnectionRow> {
  const { tenantId, userId: createdBy } = caller
  const at = deps.clock()
  const id = timeOrderedId(at)
  const { client_secret: secret, ...config } = oidc
  assertCallable(deps, config.issuer)
  await lockTenant(tx, tenantId)
  if ((await countConnections(tx, tenantId)) >= maxConnections)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${maxConnections} connections.`)
  const row: ConnectionRow = {
    ...body,
    id,
    status: 'draft',
    config,
    mapping: await checkedMapping(tx, caller, mapping),
    tested_by: null,
    tested_at: null,
    activated_by: null,
    activated_at: null,
    created_at: at,
    version: 1,
  }
  insertConnection(tx, row, { tenantId, createdBy, sealed: sealSecret(deps, { tenantId, id }, secret) })
  await recordChange(tx, caller, at, {
    event: 'tenant.connection_created',
    data: { connection_id: id },
    action: 'connection:create',
    target: { type: 'connection', id },
    changes: changesBetween(null, settingsOf(row)),
  })
  return row
}

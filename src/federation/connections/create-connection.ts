import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { whyNotCalled } from '../call-upstream.ts'
import { assertMayBring, checkedMapping } from './check-mapping.ts'
import type { NewConnection } from './connection-schemas.ts'
import { settingsOf } from './show-connection.ts'
import {
  type ConnectionKey,
  type ConnectionRow,
  countConnections,
  insertConnection,
  type SamlConfig,
} from './store.ts'

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

/**
 * Makes a draft; `provider`: of a connection by SAML, what was read of its metadata. 400 and 403 as {@link checkedMapping}, 409
 * `limit_reached`.
 */
export async function createConnection(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { body, provider }: { body: NewConnection; provider: SamlConfig | null },
): Promise<ConnectionRow> {
  const { tenantId, userId: createdBy } = caller
  const at = deps.clock()
  const id = timeOrderedId(at)
  if (body.kind === 'oidc') assertCallable(deps, body.oidc.issuer)
  await lockTenant(tx, tenantId)
  if ((await countConnections(tx, tenantId)) >= maxConnections)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${maxConnections} connections.`)
  const row: ConnectionRow = {
    ...configured(body, provider),
    id,
    name: body.name,
    status: 'draft',
    subject_attribute: body.subject_attribute,
    mapping: await checkedMapping(tx, caller, body.mapping),
    jit: body.jit,
    trusts_mfa: body.trusts_mfa,
    directory_subject: body.directory_subject,
    tested_by: null,
    tested_at: null,
    activated_by: null,
    activated_at: null,
    activator_left_at: null,
    created_at: at,
    version: 1,
  }
  await assertMayBring(tx, caller, row)
  const secret = body.kind === 'oidc' ? body.oidc.client_secret : null
  const sealed = secret === null ? null : sealSecret(deps, { tenantId, id }, secret)
  insertConnection(tx, row, { tenantId, createdBy, sealed })
  await recordChange(tx, caller, at, {
    event: 'tenant.connection_created',
    data: { connection_id: id },
    action: 'connection:create',
    target: { type: 'connection', id },
    changes: changesBetween(null, settingsOf(row)),
  })
  return row
}

function configured(body: NewConnection, provider: SamlConfig | null) {
  if (body.kind === 'saml') return { kind: body.kind, config: provider! }
  const { client_secret: _secret, ...config } = body.oidc
  return { kind: body.kind, config }
}

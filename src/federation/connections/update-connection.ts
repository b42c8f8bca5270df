import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField, invalidState } from '../../errors.ts'
import { endSessionsOfConnection } from '../../identity/sessions/end-session.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { holderOf } from '../../tenancy/roles/grantable-roles.ts'
import { assertMayBring, checkedMapping } from './check-mapping.ts'
import type { ConnectionChange } from './connection-schemas.ts'
import { assertCallable, sealSecret } from './create-connection.ts'
import { readIdentityProvider } from './identity-provider.ts'
import { connectionResource, isOtherSignIn, settingsOf } from './show-connection.ts'
import { type ConnectionRow, changeConnection, type SamlConfig } from './store.ts'

// draft ⇄ active ⇄ disabled; active → active by another owner, who has tried it since. A change of whom it signs in, or of what they get, makes a draft of it, which has to be tried again: an
// admin who changes a provider must not speak with the voice of the owner who activated it.

/** Reads the metadata that a change gives, before its transaction; null without. 400 for what connections of another kind have. */
export function readChange(
  deps: Deps,
  { tenantId }: Caller,
  { kind }: ConnectionRow,
  { oidc, saml }: ConnectionChange,
): Promise<SamlConfig> | null {
  const other = kind === 'oidc' ? saml && 'saml' : oidc && 'oidc'
  if (other) throw invalidField(other, `This connection is of the kind ${kind}: it has no ${other}.`)
  return saml ? readIdentityProvider(deps, tenantId, saml) : null
}

/**
 * Changes a locked connection; `provider`: what {@link readChange} gave. 400 and 403 as a new one; to activate it 403 without `connection:activate`, and 409 `invalid_state`
 * unless the caller has tried it as it is now.
 */
export async function updateConnection(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  before: ConnectionRow,
  { body, ifMatch, provider }: { body: ConnectionChange; ifMatch: Versions; provider: SamlConfig | null },
): Promise<ConnectionRow> {
  assertAmong(ifMatch, before.version)
  const { tenantId } = caller
  const { id } = before
  const at = deps.clock()
  const { oidc, saml: _saml, status, mapping, ...given } = body
  const secret = oidc?.client_secret
  const edited: ConnectionRow = {
    ...configured(deps, before, { oidc, provider }),
    ...known(given),
    mapping: mapping ? await checkedMapping(tx, caller, mapping) : before.mapping,
  }
  if (edited.jit !== before.jit) await assertMayBring(tx, caller, edited)
  const isOther = isOtherSignIn(before, edited)
  const settled = isOther ? { ...edited, status: 'draft' as const, tested_by: null, tested_at: null } : edited
  const after = withStatus(settled, status, caller, at)
  const isActivated = after.activated_at !== before.activated_at
  if (isDeepStrictEqual(after, before) && secret === undefined) return before
  changeConnection(tx, after, {
    tenantId,
    at,
    sealed: secret === undefined ? null : sealSecret(deps, { tenantId, id }, secret),
    activator: isActivated ? holderOf(caller) : null,
  })
  if (status === 'disabled') await endSessionsOfConnection(tx, caller, { tenantId, id }, at)
  await recordChange(tx, caller, at, {
    event: isActivated ? 'tenant.connection_activated' : 'tenant.connection_updated',
    data: { connection_id: id },
    action: isActivated ? 'connection:activate' : 'connection:update',
    target: { type: 'connection', id },
    changes: {
      ...changesBetween(settingsOf(before), settingsOf(after)),
      ...(secret !== undefined && { credentials: { before: 'replaced', after: 'new' } }),
    },
  })
  return { ...after, version: before.version + 1 }
}

function configured(
  deps: Deps,
  before: ConnectionRow,
  { oidc = {}, provider }: { oidc: ConnectionChange['oidc']; provider: SamlConfig | null },
): ConnectionRow {
  if (before.kind === 'saml') return { ...before, config: provider ?? before.config }
  const { client_secret: secret, ...given } = oidc
  const config = { ...before.config, ...known(given) }
  if (config.issuer !== before.config.issuer) assertIssuer(deps, config.issuer, secret)
  return { ...before, config }
}

/** An editor cannot read the secret: a server of their own, as the new issuer, would be sent it. */
function assertIssuer(deps: Deps, issuer: string, secret: string | undefined): void {
  assertCallable(deps, issuer)
  if (secret === undefined)
    throw invalidField(
      'oidc.client_secret',
      'Give the secret for the new issuer: it does not get the old one.',
    )
}

/** The members of a body that were given. */
const known = <Body extends object>(body: Body) =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Body]: Exclude<Body[Name], undefined>
  }

function withStatus(
  row: ConnectionRow,
  status: ConnectionChange['status'],
  caller: Caller,
  at: number,
): ConnectionRow {
  if (status === undefined) return row
  if (status === 'disabled') return { ...row, status }
  const isPermitted =
    caller.token === 'access' && caller.readerBy('connection:activate')(connectionResource(row)) !== null
  const isTried = row.tested_by === caller.userId
  const isTriedAnew = isTried && row.tested_at! > (row.activated_at ?? 0)
  // What was read can be sent back: an active connection stays as it is, unless it is to be activated anew.
  if (row.status === 'active' && !(isPermitted && isTriedAnew)) return row
  if (!isPermitted)
    throw new ApiError(
      403,
      'permission_denied',
      'Activating a connection takes a session with connection:activate, as owners have it.',
    )
  if (!isTried)
    throw invalidState(
      'Sign in by this connection first, as it is now: POST to test/ gives the address.',
      row.status,
    )
  return { ...row, status, activated_by: caller.userId, activated_at: at, activator_left_at: null }
}

import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { findPersonBy } from '../../identity/users/store.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { stateNotValid } from '../flows.ts'
import { UpstreamError } from '../upstream.ts'
import { callbackOf } from './addresses.ts'
import { connectionUpstream } from './connection-upstream.ts'
import { type ConnectionClient, findConnectionClient, recordTest } from './store.ts'
import { openState, packRelayState, sealState, unpackRelayState } from './try-state.ts'

// A sign-in that tries a connection opens no session and links nothing. Its state says who tries which version of the connection.
// What is changed meanwhile, or between the try and the activation, has to be tried again.

type TestDeps = Pick<Deps, 'db' | 'sealer' | 'config' | 'clock' | 'publicUrl'>

const lifetimeMs = 600_000
const reason = 'a sign-in names a connection before its tenant is known'

/** The address at the provider where the caller tries a connection. 409 `provider_refused` if the provider cannot be used. */
export async function beginTest(deps: TestDeps, caller: Caller, id: string): Promise<string> {
  const connection = await findClient(deps, id)
  try {
    const { parameter, write } = states[connection.kind]
    // The state holds what is kept, so it comes afterwards.
    const asked = { state: '', redirectUri: callbackOf(deps, id), isFresh: true }
    const begun = await connectionUpstream(deps, connection).begin(asked)
    // A provider that does not say when a person signed in can be tried.
    const { freshSince: _freshSince, ...kept } = begun.kept
    const { userId } = caller
    const expiresAt = deps.clock() + lifetimeMs
    const url = new URL(begun.url)
    url.searchParams.set(parameter, write(deps, id, { userId, version: connection.version, kept, expiresAt }))
    return url.href
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    throw new ApiError(409, 'provider_refused', error.message, { cause: error })
  }
}

/** What a provider said of the person who tried a connection. */
export interface Tried {
  name: string
  subject: string
  claims: Readonly<Record<string, unknown>>
}

interface TestAnswer {
  id: string
  /** That of the address at which the answer came. */
  kind: ConnectionClient['kind']
  /** The query of a GET, or the fields of a form. */
  parameters: URLSearchParams
  requestInfo: RequestInfo
}

/**
 * Checks the answer of a provider to a try, and records it. Throws 400 for an answer that belongs to none, or is late, 404; 409
 * `provider_refused` for one that does not hold, and `overtaken` if the connection was changed meanwhile.
 */
export async function finishTest(
  deps: TestDeps,
  { id, kind, parameters, requestInfo }: TestAnswer,
): Promise<Tried> {
  const connection = await findClient(deps, id)
  if (connection.kind !== kind) throw notFound()
  const { tenant_id: tenantId, name } = connection
  const { parameter, read } = states[kind]
  const at = deps.clock()
  const state = parameters.get(parameter) ?? ''
  const begun = read(deps, id, state)
  if (!begun || begun.expiresAt <= at) throw stateNotValid()
  // Before the work: a try counts once, because it makes a new version.
  if (connection.version !== begun.version) throw overtaken()
  try {
    const answer = { state, redirectUri: callbackOf(deps, id), kept: begun.kept, parameters, at }
    const { subject, claims } = await connectionUpstream(deps, connection).finish(answer)
    await asSystem(deps.db, reason, async (tx) => {
      const { userId, version } = begun
      const person = await findPersonBy(tx, { id: userId })
      if (!(await recordTest(tx, { tenantId, id, version, userId, at }))) throw overtaken()
      await appendAudit(tx, {
        tenantId,
        actor: { id: userId, email: person?.email ?? null },
        requestInfo,
        action: 'connection:test',
        target: { type: 'connection', id },
        at,
      })
    })
    return { name, subject, claims }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    throw new ApiError(409, 'provider_refused', error.message, { cause: error })
  }
}

const overtaken = () => new ApiError(409, 'overtaken', 'The connection was changed meanwhile. Try it again.')

/** A connection of any tenant. Throws 404. */
export async function findClient({ db }: Pick<Deps, 'db'>, id: string): Promise<ConnectionClient> {
  const connection = await readAsSystem(db, reason, (read) => findConnectionClient(read, id))
  if (!connection) throw notFound()
  return connection
}

/** How the state of a try is called in the requests and answers of a protocol, and how it is written. */
const states = {
  oidc: { parameter: 'state', write: sealState, read: openState },
  saml: { parameter: 'RelayState', write: packRelayState, read: unpackRelayState },
}

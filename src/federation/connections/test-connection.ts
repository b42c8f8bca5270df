import { openToken, sealToken } from '../../crypto/sealed-token.ts'
import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { beginOidc, finishOidc, type OidcClient } from '../oidc.ts'
import { subjectIn } from '../subject-in.ts'
import { UpstreamError } from '../upstream.ts'
import { type ConnectionClient, findConnectionClient, recordTest } from './store.ts'

// A sign-in that tries a connection opens no session and links nothing. Its state is sealed: who tries which version of the connection.
// What is changed meanwhile, or between the try and the activation, has to be tried again.

type TestDeps = Pick<Deps, 'db' | 'sealer' | 'config' | 'clock' | 'publicUrl'>

const lifetimeMs = 600_000
const reason = 'a sign-in names a connection before its tenant is known'

interface TestState {
  userId: string
  email: string
  version: number
  kept: Record<string, string>
  expiresAt: number
}

/** Where a provider sends the browser back to: each connection has an address of its own (RFC 9700 §4.4). */
export const callbackOf = ({ publicUrl }: Pick<Deps, 'publicUrl'>, id: string): string =>
  `${publicUrl()}/sign-in/callback/${id}/`

/** The address at the provider where the caller tries a connection. 409 `provider_refused` if the provider cannot be used. */
export async function beginTest(deps: TestDeps, caller: Caller, id: string): Promise<string> {
  const connection = await findClient(deps, id)
  try {
    // The state holds what is kept, so it comes afterwards.
    const asked = { state: '', redirectUri: callbackOf(deps, id), isFresh: true }
    const begun = await beginOidc(deps, clientOf(deps, connection), asked)
    const state: TestState = {
      userId: caller.userId,
      email: caller.auth.user.email,
      version: connection.version,
      kept: begun.kept,
      expiresAt: deps.clock() + lifetimeMs,
    }
    const url = new URL(begun.url)
    url.searchParams.set('state', sealToken(deps.sealer, 'connection', JSON.stringify(state), contextOf(id)))
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

/**
 * Checks the answer of a provider to a try, and records it. Throws 400 for an answer that belongs to none, or is late; 409
 * `provider_refused` for one that does not hold, and `overtaken` if the connection was changed meanwhile.
 */
export async function finishTest(
  deps: TestDeps,
  { id, parameters, requestInfo }: { id: string; parameters: URLSearchParams; requestInfo: RequestInfo },
): Promise<Tried> {
  const state = parameters.get('state') ?? ''
  const begun = openState(deps, id, state)
  const connection = await findClient(deps, id)
  const { tenant_id: tenantId, name, subject_attribute: attribute } = connection
  const at = deps.clock()
  try {
    const answer = { state, redirectUri: callbackOf(deps, id), kept: begun.kept, parameters, at }
    const claims = await finishOidc(deps, clientOf(deps, connection), answer)
    const subject = subjectIn(claims, attribute)
    await asSystem(deps.db, reason, async (tx) => {
      const { userId, email, version } = begun
      if (!(await recordTest(tx, { tenantId, id, version, userId, at })))
        throw new ApiError(409, 'overtaken', 'The connection was changed meanwhile. Try it again.')
      await appendAudit(tx, {
        tenantId,
        actor: { id: userId, email: email || null },
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

async function findClient({ db }: TestDeps, id: string): Promise<ConnectionClient> {
  const connection = await readAsSystem(db, reason, (read) => findConnectionClient(read, id))
  if (!connection) throw notFound()
  return connection
}

/** The client that a connection is at its provider. */
export const clientOf = (
  { sealer }: Pick<Deps, 'sealer'>,
  { tenant_id, id, config, ...row }: ConnectionClient,
): OidcClient => ({
  issuer: config.issuer,
  clientId: config.client_id,
  clientSecret: sealer.open('connection', row.client_secret_sealed, `${tenant_id}.${id}`),
  scopes: config.scopes,
})

const contextOf = (id: string) => `test.${id}`

function openState({ sealer, clock }: TestDeps, id: string, state: string): TestState {
  const opened = read(() => openToken(sealer, 'connection', state, contextOf(id)) as TestState)
  if (opened && opened.expiresAt > clock()) return opened
  throw new ApiError(
    400,
    'state_not_valid',
    'This answer belongs to no sign-in that began here in the last 10 minutes. Begin again.',
  )
}

function read<T>(open: () => T): T | null {
  try {
    return open()
  } catch {
    return null
  }
}

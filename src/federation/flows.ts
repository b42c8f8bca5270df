import { hash } from 'node:crypto'
import { hashOneTimeToken, makeOneTimeToken } from '../crypto/one-time-token.ts'
import { asSystem } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import { timeOrderedId } from '../messages/outbox/time-ordered-id.ts'
import { callbackOf } from './connections/addresses.ts'
import { findBegun, insertFlow, recordAnswer, takeFlow } from './store.ts'
import type { Asked, Upstream } from './upstream.ts'

type FlowDeps = Pick<Deps, 'db' | 'sealer' | 'clock' | 'publicUrl'>

export const lifetimeMs = 600_000
const reason = 'a sign-in with another provider begins before its person is known'

/** What a flow keeps until the answer comes. */
interface Kept {
  kept: Record<string, string>
  returnTo: string | null
}

/** What is stored of a browser: SHA-256 of the id of its flow of pages. */
export const browserHash = (flowId: string): Buffer => hash('sha256', flowId, 'buffer')

/** Begins a sign-in in a browser, and gives the URL at the upstream. Throws {@link UpstreamError}. */
export async function beginFlow(
  deps: FlowDeps,
  upstream: Upstream,
  {
    browser,
    returnTo,
    ...asked
  }: Pick<Asked, 'isFresh' | 'loginHint'> & { browser: string; returnTo: string | null },
): Promise<string> {
  const { token: state, hash: stateHash } = makeOneTimeToken()
  const { url, kept } = await upstream.begin({ ...asked, state, redirectUri: callbackOf(deps, upstream.id) })
  const at = deps.clock()
  const id = timeOrderedId(at)
  const keptSealed = deps.sealer.seal('federation', JSON.stringify({ kept, returnTo } satisfies Kept), id)
  const flow = { id, provider: upstream.id, stateHash, browserHash: browserHash(browser), keptSealed }
  await asSystem(deps.db, reason, async (tx) => insertFlow(tx, { ...flow, at, expiresAt: at + lifetimeMs }))
  return url
}

/** What upstreams answer with; the rest of a form is not stored. */
const ofAnswers = new Set([
  ...['code', 'state', 'iss', 'error', 'error_description', 'user', 'response', 'id_token', 'access_token'],
  ...['SAMLResponse', 'RelayState'],
])

/** Keeps an answer by POST, to which the browser sends no cookie. Throws 400 `state_not_valid` where none is waited for. */
export async function keepAnswer(
  deps: FlowDeps,
  provider: string,
  parameters: URLSearchParams,
): Promise<void> {
  const stateHash = hashOneTimeToken(parameters.get('state') ?? '')
  const kept = new URLSearchParams([...parameters].filter(([name]) => ofAnswers.has(name)))
  const isKept = await asSystem(deps.db, reason, async (tx) => {
    const id = await findBegun(tx, { stateHash, provider, at: deps.clock() })
    return id !== null && recordAnswer(tx, { id, sealed: deps.sealer.seal('federation', `${kept}`, id) })
  })
  if (!isKept) throw stateNotValid()
}

/** A flow that was taken, with its answer. */
export interface Taken {
  id: string
  kept: Record<string, string>
  returnTo: string | null
  state: string
  parameters: URLSearchParams
}

/** Takes the flow of an answer, once. Throws 400 `state_not_valid` unless the upstream and the browser are those that began. */
export async function takeAnswer(
  deps: FlowDeps,
  { provider, browsers, query }: { provider: string; browsers: readonly string[]; query: URLSearchParams },
): Promise<Taken> {
  const state = query.get('state') ?? ''
  const of = { stateHash: hashOneTimeToken(state), provider, browsers: browsers.map(browserHash) }
  const taken = await asSystem(deps.db, reason, (tx) => takeFlow(tx, { ...of, at: deps.clock() }))
  if (!taken) throw stateNotValid()
  const open = (sealed: Buffer) => deps.sealer.open('federation', sealed, taken.id)
  const kept: Kept = JSON.parse(open(taken.kept_sealed))
  const parameters = taken.answer_sealed ? new URLSearchParams(open(taken.answer_sealed)) : query
  return { id: taken.id, ...kept, state, parameters }
}

export const stateNotValid = () =>
  new ApiError(
    400,
    'state_not_valid',
    'This answer belongs to no sign-in that began here in the last 10 minutes. Begin again.',
  )

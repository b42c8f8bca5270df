import type { Plan, PlanRequest, TokenPair } from './api-types.ts'
import { type Approvals, approvalsBy } from './approvals.ts'
import type { Credentials } from './credentials.ts'
import { inTime } from './deadline.ts'
import {
  type AccessDecision,
  type AuthorizeOptions,
  type DecideOptions,
  decide,
  type Question,
} from './decide.ts'
import {
  type AnswerOf,
  type AnyInput,
  type Inputs,
  type ListOperation,
  type Operation,
  type RowOf,
  repetitionOf,
  requestOf,
  type StorableOperation,
  type Stored,
} from './operations.ts'
import { isProblem } from './problem.ts'
import { withRetries } from './retry.ts'
import { type Answer, exchange, type Transport } from './transport.ts'

export interface ClientOptions {
  /** Address of the service: `https://id.example.com`. */
  url: string
  /** None: only public calls work. */
  credentials?: Credentials
  /** ms for one attempt, 5,000 if absent. */
  timeoutMs?: number
  fetch?: typeof fetch
}

/** Calls of the API. All throw `Problem` for a refusal, and `NoAnswer` where none came. */
export interface Client {
  /** Calls an operation, and gives its answer: `call('POST /tenants/', { body: { name: 'Looms' } })`. */
  call<K extends Operation>(operation: K, ...input: Inputs<K>): Promise<AnswerOf<K>>
  /** The same, with the version of what was read, for `ifMatch` of a change. */
  callVersioned<K extends Operation>(
    operation: K,
    ...input: Inputs<K>
  ): Promise<{ body: AnswerOf<K>; etag: string | null }>
  /**
   * The same with `Prefer: respond-async`: a call that needs an approval is stored, and carried out when it is approved. The
   * answer is then the `approval_request`.
   */
  callOrStore<K extends StorableOperation>(operation: K, ...input: Inputs<K>): Promise<AnswerOf<K> | Stored>
  /** The rows of a list, over all its pages. */
  each<K extends ListOperation>(operation: K, ...input: Inputs<K>): AsyncGenerator<RowOf<K>, void, undefined>
  /**
   * Whether a subject may do something. Never throws: without an answer in time (`deadlineMs`, 1,000), or with
   * obligations that the caller does not carry out, it is false.
   */
  authorize(question: Question, options?: AuthorizeOptions): Promise<boolean>
  /** The same with all that the service says: reasons, obligations, approvals, the id of the decision. Never throws. */
  decide(question: Question, options?: DecideOptions): Promise<AccessDecision>
  /** Asks for approvals of actions of your application, and uses them. */
  readonly approvals: Approvals
  /** On which resources of a type a subject may do something: translate it with `sqlOf` or `predicateOf`. */
  plan(question: PlanRequest): Promise<Plan>
  /** The same client with other credentials. */
  as(credentials: Credentials): Client
}

/** A client of the service. It keeps nothing but its options, so it costs little to make one. */
export function createClient(options: ClientOptions): Client {
  const { url, credentials, timeoutMs = 5_000 } = options
  const transport: Transport = { url, timeoutMs, fetch: options.fetch ?? ((...args) => fetch(...args)) }
  const send = (operation: string, input: AnyInput) => sendCall(transport, credentials, operation, input)
  const call = async (operation: string, input: AnyInput = {}) => (await send(operation, input)).body
  credentials?.attach?.((token) => refreshed(transport, token))

  return {
    call: (operation, input?: AnyInput) => call(operation, input) as never,
    callVersioned: (operation, input: AnyInput = {}) => send(operation, input) as never,
    each: (operation, input: AnyInput = {}) => eachRow(call, operation, input) as never,
    callOrStore: (operation, input?: AnyInput) =>
      call(operation, { ...input, prefer: 'respond-async' }) as never,
    decide: (question, more) => decide(call, question, more),
    async authorize(question, more) {
      const decision = await decide(call, question, more)
      if (decision.effect === null) more?.onFailure?.(decision.error)
      return decision.allowed
    },
    approvals: approvalsBy(call),
    plan: async (body) => (await call('POST /access/v1/plan', { body })) as Plan,
    as: (other) => createClient({ ...options, credentials: other }),
  }
}

async function sendCall(
  transport: Transport,
  credentials: Credentials | undefined,
  operation: string,
  input: AnyInput,
): Promise<Answer> {
  const repetition = repetitionOf(operation)
  const request = { ...requestOf(operation, input), headers: headersOf(input, repetition), body: input.body }
  const attempt = async (earlier: number, signal: AbortSignal | undefined): Promise<Answer> => {
    try {
      return await authenticated(credentials, transport, (token) =>
        exchange(transport, { ...request, signal, token }),
      )
    } catch (error) {
      // The attempt whose answer was lost deleted it.
      if (earlier > 0 && request.method === 'DELETE' && isProblem(error) && error.status === 404)
        return { body: undefined, etag: null }
      throw error
    }
  }
  return inTime(input.deadlineMs, input.signal, (signal, until) =>
    repetition === 'never'
      ? attempt(0, signal)
      : withRetries((earlier) => attempt(earlier, signal), signal, until),
  )
}

/** Sends a request, and once more with a renewed token if its token was refused as not valid. */
async function authenticated(
  credentials: Credentials | undefined,
  transport: Transport,
  send: (token: string | null) => Promise<Answer>,
): Promise<Answer> {
  if (!credentials) return send(null)
  const token = await credentials.token()
  try {
    return await send(token)
  } catch (error) {
    if (!credentials.renew || !isProblem(error, 'token_not_valid')) throw error
    await credentials.renew(token, (refreshToken) => refreshed(transport, refreshToken))
    return send(await credentials.token())
  }
}

const refreshed = async (transport: Transport, refresh: string): Promise<TokenPair> =>
  (await sendCall(transport, undefined, 'POST /auth/refresh/', { body: { refresh } })).body as TokenPair

function headersOf(
  { ifMatch, approvalRequest, idempotencyKey, prefer }: AnyInput,
  repetition: ReturnType<typeof repetitionOf>,
): Record<string, string> {
  return {
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    ...(approvalRequest !== undefined && { 'approval-request': approvalRequest }),
    ...(prefer !== undefined && { prefer }),
    ...(repetition === 'keyed' && { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() }),
  }
}

async function* eachRow(
  call: (operation: string, input: AnyInput) => Promise<unknown>,
  operation: string,
  input: AnyInput,
): AsyncGenerator<unknown, void, undefined> {
  let cursor: string | null = null
  do {
    const query: Record<string, unknown> = cursor === null ? { ...input.query } : { ...input.query, cursor }
    const page = (await call(operation, { ...input, query })) as { results: unknown[]; next: string | null }
    yield* page.results
    // Only the cursor of `next`: a token must not go to an address that an answer names.
    const next: string | null = page.next === null ? null : cursorIn(page.next)
    if (next !== null && next === cursor) throw new Error(`${operation} answered the same page twice`)
    cursor = next
  } while (cursor !== null)
}

const cursorIn = (next: string): string | null =>
  new URL(next, 'http://service.invalid').searchParams.get('cursor')

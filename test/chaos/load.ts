import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from './stage.ts'

/** What the service acknowledged, and what it owes for it. */
export interface Journal {
  roles: { tenantId: string; id: string; name: string }[]
  /** Addresses of registered people: each gets a mail. */
  registered: string[]
  /** Answers by outcome: the status, of failures with their code, or `no answer`. */
  outcomes: Map<string, number>
  /** The requests that got no answer or a 5xx. */
  failures: Failure[]
  /** Sessions that ended because the answer to a refresh was lost for longer than its grace. */
  relogins: number
  /** Times of successful writes (ms, by `performance.now()`), to measure recoveries. */
  written: { api: number; at: number }[]
}

/** A request that failed: after how many ms, and how. */
export interface Failure {
  request: string
  api: number
  ms: number
  outcome: string
}

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: each route has another body
  body: any
}

const password = 'a quiet harbour'

/** A person with a tenant and a webhook, who uses one API and turns to the other one when that is away. */
export class Client {
  readonly email: string
  tenantId = ''
  #access = ''
  #refresh = ''
  readonly #stage: Stage
  readonly #journal: Journal
  readonly #number: number
  #steps = 0
  /** A run that was given up could have used the same names. */
  readonly #run = Date.now().toString(36)

  constructor(stage: Stage, journal: Journal, number: number) {
    this.#stage = stage
    this.#journal = journal
    this.#number = number
    this.email = `client${number}@example.com`
  }

  async begin(): Promise<void> {
    await this.#expect(201, 'POST', '/auth/register/', { email: this.email, password })
    this.#journal.registered.push(this.email)
    await this.#logIn()
    await this.#expect(201, 'POST', '/webhooks/', { url: `${this.#stage.receiver.url}/${this.tenantId}` })
  }

  async #logIn(): Promise<void> {
    const { access, refresh } = await this.#expect(200, 'POST', '/auth/login/', {
      email: this.email,
      password,
    })
    this.#keep(access, refresh)
  }

  #keep(access: string, refresh: string): void {
    this.#access = access
    this.#refresh = refresh
    this.tenantId = JSON.parse(Buffer.from(access.split('.')[1]!, 'base64url').toString()).tenant_id
  }

  /** One request of the mix. Never throws. */
  async step(): Promise<void> {
    const turn = this.#steps++ % 8
    if (turn === 0) return this.#register()
    if (turn === 1) return this.#renew()
    if (turn < 5) return this.#write()
    if (turn === 5) await this.#send('POST', '/access/v1/evaluation', this.#question())
    else await this.#send('GET', '/users/me/')
  }

  /** One request of three kinds, a read, a decision and a write. Gives its outcome, as the journal names it. */
  async ask(): Promise<string> {
    const turn = this.#steps++ % 3
    const answer =
      turn === 0
        ? await this.#send('GET', '/users/me/')
        : turn === 1
          ? await this.#send('POST', '/access/v1/evaluation', this.#question())
          : await this.#send('PATCH', '/users/me/', { last_name: `Step ${this.#steps}` })
    return answer ? outcomeOf(answer) : 'no answer'
  }

  #question() {
    return {
      subject: { type: 'user', id: this.email },
      action: { name: 'note:read' },
      resource: { type: 'note', id: '1' },
    }
  }

  async #register(): Promise<void> {
    const email = `p${this.#number}.${this.#steps}.${this.#run}@example.com`
    const answer = await this.#send('POST', '/auth/register/', { email, password })
    if (answer?.status === 201) this.#journal.registered.push(email)
  }

  async #write(): Promise<void> {
    const { tenantId } = this
    const name = `Role ${this.#steps} ${this.#run}`
    const answer = await this.#send('POST', `/tenants/${tenantId}/roles/`, { name })
    if (answer?.status === 201) this.#journal.roles.push({ tenantId, id: answer.body.id, name })
  }

  async #renew(): Promise<void> {
    const answer = await this.#send('POST', '/auth/refresh/', { refresh: this.#refresh })
    if (answer?.status === 200) this.#keep(answer.body.access, answer.body.refresh)
    if (answer?.status !== 401) return
    // The last answer was lost, and this repetition came after the grace: RFC 9700 §4.14.2 ends the session.
    this.#journal.relogins++
    await this.#logIn().catch(() => undefined)
  }

  async #expect(status: number, method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.#send(method, path, body)
    if (answer?.status === status) return answer.body
    throw new Error(`${method} ${path} answered ${answer?.status}: ${JSON.stringify(answer?.body)}`)
  }

  /**
   * Null without an answer. As a balancer does, it leaves out an API that is not ready while the other one is. It asks the
   * other one after a refused connection, which was never used, and repeats a GET whose connection ended before the answer
   * began (RFC 9110 §9.2.2).
   */
  async #send(method: string, path: string, body?: unknown): Promise<Answer | null> {
    const { apis } = this.#stage
    const own = this.#number % apis.length
    const first = !apis[own]!.isReady && apis.some(({ isReady }) => isReady) ? own + 1 : own
    for (let tries = 0; tries < apis.length; tries++) {
      const api = (first + tries) % apis.length
      const begun = performance.now()
      const answer = await this.#sendTo(`${apis[api]!.url}${fullPath(path)}`, method, body)
      const canRepeat = answer === 'refused' || (answer === null && method === 'GET')
      if (canRepeat && tries + 1 < apis.length) continue
      const outcome = typeof answer === 'object' && answer ? outcomeOf(answer) : 'no answer'
      this.#count(outcome)
      if (/^(5|no)/.test(outcome))
        this.#journal.failures.push({
          request: `${method} ${path}`,
          api,
          ms: Math.round(performance.now() - begun),
          outcome,
        })
      if (answer === 'refused' || answer === null) return null
      if (method === 'POST' && answer.status < 300) this.#journal.written.push({ api, at: performance.now() })
      return answer
    }
    return null
  }

  async #sendTo(url: string, method: string, body: unknown): Promise<Answer | 'refused' | null> {
    try {
      const response = await fetch(url, {
        method,
        headers: {
          'content-type': 'application/json',
          ...(this.#access && { authorization: `Bearer ${this.#access}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(60_000),
      })
      const text = await response.text()
      return { status: response.status, body: text ? JSON.parse(text) : null }
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { code?: string }
      return code === 'ECONNREFUSED' ? 'refused' : null
    }
  }

  #count(outcome: string): void {
    const { outcomes } = this.#journal
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
}

const outcomeOf = ({ status, body }: Answer) =>
  status < 400 ? String(status) : `${status} ${body?.code ?? ''}`

const fullPath = (path: string) => (path.startsWith('/access/') ? path : `/api/v1${path}`)

export const newJournal = (): Journal => ({
  roles: [],
  registered: [],
  outcomes: new Map(),
  failures: [],
  relogins: 0,
  written: [],
})

/** Lets each client send a request, then another one after a pause, until `stop`. */
export function startLoad(clients: readonly Client[], pauseMs: number): { stop(): Promise<void> } {
  let running = true
  const loops = clients.map(async (client) => {
    while (running) {
      await client.step()
      await sleep(pauseMs)
    }
  })
  return {
    async stop() {
      running = false
      await Promise.all(loops)
    },
  }
}

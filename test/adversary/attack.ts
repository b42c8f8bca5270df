import type { Answer, Service } from '../helpers/service.ts'

/** `ci`: the part that `npm test` runs, a few seconds. `quick`: under five minutes together. `whole`: everything. */
export type Size = 'ci' | 'quick' | 'whole'

/** A class of attacks. It starts the services that it needs on the stage, and counts each attempt. */
export interface Attack {
  name: string
  about: string
  run(stage: Stage, tally: Tally): Promise<void>
}

/** Where attacks run. */
export interface Stage {
  size: Size
  /** The one of the three values for this size. */
  pick<T>(ci: T, quick: T, whole: T): T
  /** The service that attacks share if they leave the schema, the settings and other people alone. */
  shared(): Promise<Service>
  /** A service with these settings for one attack. */
  fresh(options?: FreshOptions): Promise<Service>
}

export interface FreshOptions {
  env?: Record<string, string>
  workers?: boolean
  hashing?: object
  logTo?: import('pino').Logger
}

/** Thrown at the first finding, where that is enough. */
export class Stopped extends Error {}

/** Counts the attempts of one attack, and keeps its findings. */
export class Tally {
  attempts = 0
  /** Attempts that were answered as they must be. */
  held = 0
  serverErrors = 0
  readonly findings: string[] = []
  /** Figures to print, such as an area under a curve. */
  readonly figures: string[] = []
  readonly stopsAtFirst: boolean

  constructor({ stopsAtFirst = false } = {}) {
    this.stopsAtFirst = stopsAtFirst
  }

  /** Counts one attempt; `fault` says what is wrong with its answer, null if nothing. */
  count(what: string, fault: string | null): void {
    this.attempts++
    if (fault === null) this.held++
    else this.find(`${what}: ${fault}`)
  }

  /** Makes a request, which has to get one of these statuses. Gives its answer; null if it was none of ours. */
  async refuse(what: string, request: () => Promise<Answer>, allowed: Allowed): Promise<Answer | null> {
    const answer = await request().catch((error: Error) => error)
    if (answer instanceof Error) this.count(what, answer.message)
    else this.count(what, faultOf(answer, allowed))
    if (answer instanceof Error) return null
    if (answer.status >= 500) this.serverErrors++
    return answer
  }

  find(finding: string): void {
    this.findings.push(finding)
    if (this.stopsAtFirst) throw new Stopped(finding)
  }

  /** Adds a finding unless it holds. */
  check(holds: boolean, otherwise: string): void {
    this.count(otherwise, holds ? null : 'does not hold')
  }
}

/** The statuses that an answer may have, or a test of the answer that gives true where it is right. */
export type Allowed = readonly number[] | ((answer: Answer) => boolean)

function faultOf(answer: Answer, allowed: Allowed): string | null {
  const right = typeof allowed === 'function' ? allowed(answer) : allowed.includes(answer.status)
  return right ? null : `${answer.status} ${answer.body?.code ?? ''}`
}

/** 401 with one of these codes; with any code if none is given. */
export const unauthorized =
  (...codes: string[]) =>
  ({ status, body, headers }: Answer) =>
    status === 401 &&
    (codes.length === 0 || codes.includes(body.code)) &&
    /^Bearer/.test(headers.get('www-authenticate') ?? '')

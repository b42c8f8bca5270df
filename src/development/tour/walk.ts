import { partialDeepStrictEqual } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { curlLine, showAnswer, showValue } from './show.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers are checked by the expectation of each call
type Json = any

/** A call of the tour: `as` names the shell variable that holds the bearer's token, `approval` an approved request. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  as?: string
  body?: Record<string, unknown>
  accept?: string
  approval?: string
}

/** What an answer must be: its status, and members its body must have among others. */
export interface Expected {
  status: number
  body?: Record<string, unknown>
  /** What to do where it differs, if that is likely for a reason. */
  hint?: string
}

/** An answer that is not as expected; the message says what was. */
export class Surprise extends Error {}

/** What the steps share: calls that are printed and checked, tokens by name, and what earlier steps found out. */
export interface Walk {
  url: string
  /** Facts that later steps need, under the names that the steps give them. */
  facts: Record<string, string>
  /** Prints the call as a curl line and its answer; gives the body, or throws {@link Surprise}. */
  call(call: Call, expected: Expected): Promise<Json>
  /** The same until the answer satisfies, for 15 s at most: what a worker does comes a moment later. */
  await(call: Call, expected: Expected, satisfies: (body: Json) => boolean): Promise<Json>
  /** Prints what a person would see, such as a QR code. */
  show(picture: string): void
  /** When the newest token was issued, in ms since 1970: the clock of the service, give or take a moment. */
  serviceTime(): number
  /** Keeps a token under a name and prints the shell assignment and the token's claims. */
  keepToken(name: string, token: string): void
}

const patienceMs = 15_000

/** A walk of the service at `url`, without a slash at its end; what it does goes to `print`, line by line. */
export function createWalk(url: string, print: (line: string) => void): Walk {
  const tokens: Record<string, string> = {}
  let issuedAt = 0
  const send = (call: Call) => request(url, call, call.as === undefined ? undefined : tokens[call.as])
  const report = (call: Call, answer: Answer, expected: Expected) => {
    print(`$ ${curlLine(call)}`)
    print(showAnswer(answer))
    assertExpected(call, answer, expected)
    return answer.body
  }
  return {
    url,
    facts: {},
    call: async (call, expected) => report(call, await send(call), expected),
    async await(call, expected, satisfies) {
      const end = Date.now() + patienceMs
      for (;;) {
        const answer = await send(call)
        const done = answer.status !== expected.status || satisfies(answer.body)
        if (done) return report(call, answer, expected)
        if (Date.now() > end) throw new Surprise(tooLate(call, expected))
        await sleep(100)
      }
    },
    show: (picture) => print(picture.trimEnd()),
    serviceTime: () => issuedAt,
    keepToken(name, token) {
      const claims = claimsOf(token)
      tokens[name] = token
      issuedAt = claims.iat * 1000
      print(`$ ${name}=${token}`)
      print(showValue('claims', claims))
    },
  }
}

const tooLate = ({ path }: Call, { hint = '' }: Expected) =>
  `What was expected of ${path} did not come within ${patienceMs / 1000} s. ${hint}`

/** An answer: its status, and its body as JSON where it is JSON, else as text. */
export interface Answer {
  status: number
  body: Json
}

async function request(url: string, call: Call, token: string | undefined): Promise<Answer> {
  const response = await fetch(url + call.path, {
    method: call.method,
    headers: {
      ...(call.accept && { accept: call.accept }),
      ...(call.approval && { 'approval-request': call.approval }),
      ...(token && { authorization: `Bearer ${token}` }),
      ...(call.body && { 'content-type': 'application/json' }),
    },
    ...(call.body && { body: JSON.stringify(call.body) }),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, body: isJson ? JSON.parse(text) : text }
}

function assertExpected({ method, path }: Call, { status, body }: Answer, expected: Expected): void {
  const wanted = `Expected ${method} ${path} to answer ${expected.status}`
  if (status !== expected.status) throw new Surprise(`${wanted}, got ${status}. ${expected.hint ?? ''}`)
  if (!expected.body) return
  try {
    partialDeepStrictEqual(body, expected.body)
  } catch {
    throw new Surprise(`${wanted} with ${JSON.stringify(expected.body)}`)
  }
}

const claimsOf = (token: string): Json =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

import { partialDeepStrictEqual } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { curlLine, showAnswer, showValue } from './show.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers are checked by the expectation of each call
type Json = any

/** A call of the tour. `as` names the shell variable of the bearer token; `approval` is the id of an approved request. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  as?: string
  body?: Record<string, unknown>
  accept?: string
  approval?: string
}

/** What an answer must have: its status, and some members of its body. */
export interface Expected {
  status: number
  body?: Record<string, unknown>
  /** What to do if the answer differs, when there is a likely reason. */
  hint?: string
}

/** An answer that is not as expected; the message says what was expected. */
export class UnexpectedAnswer extends Error {}

/** The state that the steps share: calls that are printed and checked, tokens by name, and facts. */
export interface Walk {
  url: string
  /** Values from earlier steps that later steps need, by name. */
  facts: Record<string, string>
  /** Prints the call as a curl line, and its answer. Gives the body, or throws {@link UnexpectedAnswer}. */
  call(call: Call, expected: Expected): Promise<Json>
  /** The same, repeated for at most 15 s until the answer satisfies, because workers act a moment later. */
  await(call: Call, expected: Expected, satisfies: (body: Json) => boolean): Promise<Json>
  /** Prints a picture for people, such as a QR code. */
  show(picture: string): void
  /** When the newest token was issued, in ms since 1970: about the time of the service's clock. */
  serviceTime(): number
  /** Stores an API key under a name, and prints the shell assignment. */
  keepKey(name: string, key: string): void
  /** Stores a token under a name, and prints the shell assignment and the token's claims. */
  keepToken(name: string, token: string): void
}

const patienceMs = 15_000

/** A walk of the service at `url` (without a slash at its end); `print` receives the output, line by line. */
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
        if (Date.now() > end) throw new UnexpectedAnswer(tooLate(call, expected))
        await sleep(100)
      }
    },
    show: (picture) => print(picture.trimEnd()),
    serviceTime: () => issuedAt,
    keepKey(name, key) {
      tokens[name] = key
      print(`$ ${name}=${key}`)
    },
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
  `${path} did not give the expected answer within ${patienceMs / 1000} s. ${hint}`

/** An answer: its status, and its body, parsed if it is JSON. */
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
  if (status !== expected.status)
    throw new UnexpectedAnswer(`${wanted}, got ${status}. ${expected.hint ?? ''}`)
  if (!expected.body) return
  try {
    partialDeepStrictEqual(body, expected.body)
  } catch {
    throw new UnexpectedAnswer(`${wanted} with ${JSON.stringify(expected.body)}`)
  }
}

const claimsOf = (token: string): Json =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

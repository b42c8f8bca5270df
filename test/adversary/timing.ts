import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from '../helpers/service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import type { Attack, Stage, Tally } from './attack.ts'

// Whether the time of an answer reveals that an address has an account. Known and unknown addresses alternate; the figure
// is the area under the ROC curve: the probability that a known address took longer than an unknown one. 0.5 is a guess,
// and 0.45 tells as much as 0.55. Run it on a quiet machine:
//   npm run adversary -- --only timing,timing-of-pages

/** An area farther from 0.5 than this reveals accounts. */
const allowed = 0.05

// The whole run has to show that the area is nearer: its 95 % interval has to lie inside. 1,400 pairs make the interval
// 0.043 wide, so that an area of a service that reveals nothing passes 99 of 100 times.
const pairs = { ci: 60, quick: 200, whole: 1_400 } as const

/** 97.5 % of a normal distribution lie below this many standard errors. */
const confidence = 1.96

/** By chance alone, an area is this many standard errors from 0.5 once in 2,000 runs. */
const noChance = 3.5

/** The steps that answer after 200 ms, nearly all of them a timer: several wait at a time. The others compute. */
const waiting = ['reset', 'mailed-link', 'mailed-link, again', 'forgot', 'register']

export const timing: Attack = {
  name: 'timing',
  about: 'whether the time of an answer reveals that an address has an account',
  run: (stage, tally) =>
    measureEach(stage, tally, (service, from) => {
      const post = poster(service, from)
      return {
        login: (email) => post('login', { email, password: 'not this one' }),
        // The right one opens nothing either, before the address is proven: it would tell that the address was free.
        'login, not proven': (email) => post('login', { email, password: 'a quiet harbour' }),
        reset: (email) => post('password/reset', { email }),
      }
    }),
}

export const timingOfPages: Attack = {
  name: 'timing-of-pages',
  about: 'the same for each form of the sign-in pages',
  run: (stage, tally) => measureEach(stage, tally, formsOfPages),
}

type Timed = (email: string) => Promise<number>

async function measureEach(
  stage: Stage,
  tally: Tally,
  requestsTo: (service: Service, from: ReturnType<typeof addresses>) => Record<string, Timed>,
): Promise<void> {
  const env = {
    TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT_ENABLED: 'false',
    REGISTRATION_HIDE_EXISTING: 'true',
    MAGIC_LINK_ENABLED: 'true',
  }
  const service = await stage.fresh({ env, workers: false, hashing: {} })
  for (const [what, request] of Object.entries(requestsTo(service, addresses()))) {
    const known = await registerEnough(service, pairs[stage.size])
    const times = await measure(request, known, pairs[stage.size], waiting.includes(what) ? 5 : 1)
    judge(stage, tally, what, times)
  }
}

/** An account is limited to a hundred failures a day: enough accounts to stay below. */
const registerEnough = (service: Service, samples: number) =>
  Promise.all(Array.from({ length: Math.ceil(samples / 80) }, async () => (await service.register()).email))

/** Headers that name another address of a caller each time, so that no counter interferes. */
function addresses() {
  let calls = 0
  return () => {
    const n = ++calls
    return { 'x-forwarded-for': `2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1` }
  }
}

/** Posts, and gives the milliseconds. */
function poster(service: Service, from: ReturnType<typeof addresses>) {
  return async (path: string, body: object): Promise<number> => {
    const headers = from()
    const begun = performance.now()
    const { status } = await service.call('POST', `/api/v1/auth/${path}/`, { body, headers })
    // 429: an account has reached its daily limit.
    if (status !== (path === 'login' ? 401 : 200))
      throw new Error(`An answer of ${status}: the figures mean nothing`)
    return performance.now() - begun
  }
}

/** The forms of the sign-in pages, each with the page that it leads to, in browsers of their own. */
function formsOfPages(service: Service, from: ReturnType<typeof addresses>): Record<string, Timed> {
  let newcomers = 0
  const open = async (path: string) => {
    const pages = openPages(service, { headers: from() })
    await pages.visit(path)
    return pages
  }
  const atPassword = async (email: string) => {
    const pages = await open('/sign-in/')
    await pages.send({ email })
    return pages
  }
  const timed = async ({ send }: Awaited<ReturnType<typeof open>>, ...form: Parameters<typeof send>) => {
    const begun = performance.now()
    const { status } = await send(...form)
    if (![200, 400].includes(status)) throw new Error(`A page answered ${status}: the figures mean nothing`)
    return performance.now() - begun
  }
  return {
    address: async (email) => timed(await open('/sign-in/'), { email }),
    password: async (email) => timed(await atPassword(email), { password: 'not this one' }),
    'mailed-link': async (email) => timed(await atPassword(email), {}, 'mailed-link'),
    'mailed-link, again': async (email) => {
      const pages = await atPassword(email)
      await pages.send({}, 'mailed-link')
      return timed(pages, {}, 'mailed-link')
    },
    forgot: async (email) => timed(await open('/sign-in/forgot/'), { email }),
    register: async (email) => {
      const free = email.includes('unknown') ? `${++newcomers}.${email}` : email // an address is free once
      return timed(await open('/sign-in/register/'), { email: free, password: 'a nanosecond of wire' })
    },
  }
}

interface Times {
  known: number[]
  unknown: number[]
}

/** The milliseconds of this many requests with known and unknown addresses each, after ten pairs that do not count. */
async function measure(
  request: Timed,
  known: readonly string[],
  samples: number,
  inParallel: number,
): Promise<Times> {
  const times: Times = { known: [], unknown: [] }
  const address = {
    known: (n: number) => known[n % known.length]!,
    unknown: (n: number) => known[n % known.length]!.replace('person', 'unknown'),
  }
  let next = -10
  await Promise.all(
    Array.from({ length: inParallel }, async (_, lane) => {
      await sleep((200 / inParallel) * lane)
      for (let n = next++; n < samples; n = next++)
        for (const kind of n % 2 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
          const ms = await request(address[kind](Math.abs(n)))
          if (n >= 0) times[kind].push(ms)
        }
    }),
  )
  return times
}

function judge({ size }: Stage, tally: Tally, what: string, times: Times) {
  const [a, b] = [median(times.known), median(times.unknown)]
  const { area, error } = auc(times.known, times.unknown)
  const [low, high] = [area - confidence * error, area + confidence * error]
  const text = [
    `${what}: ${times.known.length} pairs, median known ${a.toFixed(2)} ms, unknown ${b.toFixed(2)} ms`,
    `AUC ${area.toFixed(3)}, 95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`,
  ].join(', ')
  const distance = Math.abs(area - 0.5)
  const chance = Math.sqrt(1 / (6 * times.known.length))
  const isShown = low > 0.5 - allowed && high < 0.5 + allowed
  const fault =
    distance > Math.max(allowed, noChance * chance)
      ? 'it reveals accounts'
      : size === 'whole' && !isShown
        ? `the interval is not within ${0.5 - allowed} and ${0.5 + allowed}`
        : null
  tally.attempts += times.known.length * 2 - 1
  tally.held += times.known.length * 2 - 1
  tally.count(text, fault)
  tally.figures.push(isShown ? text : `${text} (too few pairs to show that it is within ${allowed} of 0.5)`)
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!

/** The area under the ROC curve, and its standard error (DeLong, DeLong and Clarke-Pearson 1988). */
function auc(known: number[], unknown: number[]): { area: number; error: number } {
  const [sortedKnown, sortedUnknown] = [known, unknown].map((times) => Float64Array.from(times).sort())
  const shorter = known.map((ms) => shareBelow(sortedUnknown!, ms))
  const longer = unknown.map((ms) => 1 - shareBelow(sortedKnown!, ms))
  const variance = varianceOf(shorter) / known.length + varianceOf(longer) / unknown.length
  return { area: mean(shorter), error: Math.sqrt(variance) }
}

/** The share of the sorted values below one; equal values count half. */
function shareBelow(sorted: Float64Array, value: number): number {
  const below = sorted.findIndex((each) => each >= value)
  if (below === -1) return 1
  const notAbove = sorted.findIndex((each) => each > value)
  return (below + (notAbove === -1 ? sorted.length : notAbove)) / 2 / sorted.length
}

const mean = (values: number[]) => values.reduce((sum, each) => sum + each, 0) / values.length

function varianceOf(values: number[]): number {
  const middle = mean(values)
  return values.reduce((sum, each) => sum + (each - middle) ** 2, 0) / (values.length - 1)
}

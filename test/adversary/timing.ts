import type { Service } from '../helpers/service.ts'
import type { Attack, Stage, Tally } from './attack.ts'

// Whether the time of an answer reveals that an address has an account. Known and unknown addresses alternate; the figure
// is the area under the ROC curve (Mann-Whitney test): 0.5 means no better than a guess. Run it on a quiet machine:
//   npm run adversary -- --only timing

const largest = 0.55

export const timing: Attack = {
  name: 'timing',
  about: 'whether the time of an answer reveals that an address has an account',
  async run(stage, tally) {
    const env = {
      TRUSTED_PROXIES: '127.0.0.1',
      RATE_LIMIT_ENABLED: 'false',
      REGISTRATION_HIDE_EXISTING: 'true',
    }
    const service = await stage.fresh({ env, workers: false, hashing: {} })
    const samples = stage.pick(60, 200, 2_000)
    const post = poster(service)
    const known = await registerEnough(service, samples)
    const requests: Record<string, (email: string) => Promise<number>> = {
      login: (email) => post('login', { email, password: 'not this one' }),
      reset: (email) => post('password/reset', { email }),
    }
    for (const [what, request] of Object.entries(requests))
      await compare(stage, tally, what, request, known, samples)
  },
}

/** An account is limited to a hundred failures a day: enough accounts to stay below. */
const registerEnough = (service: Service, samples: number) =>
  Promise.all(Array.from({ length: Math.ceil(samples / 80) }, async () => (await service.register()).email))

/** Posts from another address each time, so that no counter interferes. Gives the milliseconds. */
function poster(service: Service) {
  let calls = 0
  return async (path: string, body: object): Promise<number> => {
    const n = ++calls
    const ip = `2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`
    const begun = performance.now()
    const { status } = await service.call('POST', `/api/v1/auth/${path}/`, {
      body,
      headers: { 'x-forwarded-for': ip },
    })
    if (status === 429)
      throw new Error('An account has reached its daily limit: the figures would mean nothing')
    return performance.now() - begun
  }
}

async function compare(
  stage: Stage,
  tally: Tally,
  what: string,
  request: (email: string) => Promise<number>,
  known: readonly string[],
  samples: number,
) {
  const times = { known: [] as number[], unknown: [] as number[] }
  const address = {
    known: (n: number) => known[n % known.length]!,
    unknown: (n: number) => known[n % known.length]!.replace('person', 'unknown'),
  }
  for (let n = -10; n < samples; n++)
    for (const kind of n % 2 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
      const ms = await request(address[kind](Math.abs(n)))
      if (n >= 0) times[kind].push(ms)
    }
  const [a, b] = [median(times.known), median(times.unknown)]
  const area = auc(times.known, times.unknown)
  // With few samples chance alone moves the area: by this standard error.
  const chance = Math.sqrt(1 / (6 * samples))
  const limit = stage.size === 'whole' ? largest : Math.max(largest, 0.5 + 3.5 * chance)
  const text = `${what}: median known ${a.toFixed(2)} ms, unknown ${b.toFixed(2)} ms, AUC ${area.toFixed(3)}`
  tally.attempts += samples * 2 - 1
  tally.held += samples * 2 - 1
  tally.count(
    `${text}, allowed ${limit.toFixed(3)}`,
    Math.abs(area - 0.5) < limit - 0.5 ? null : 'it reveals accounts',
  )
  tally.figures.push(text)
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!

/** The probability that a known address took longer than an unknown one. */
function auc(known: number[], unknown: number[]): number {
  const all = [...known.map((ms) => ({ ms, is: 1 })), ...unknown.map((ms) => ({ ms, is: 0 }))].sort(
    (x, y) => x.ms - y.ms,
  )
  const ranks = all.reduce((sum, { is }, index) => sum + (is ? index + 1 : 0), 0)
  return (ranks - (known.length * (known.length + 1)) / 2) / (known.length * unknown.length)
}

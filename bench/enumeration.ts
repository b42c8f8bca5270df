import { randomBytes } from 'node:crypto'
import { readConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/log.ts'
import { serveApi } from '../src/serve.ts'
import { disposableDatabase } from '../test/helpers/database.ts'

// Measures whether the response time reveals that an address has an account. Run it by hand on a quiet machine:
//   node bench/enumeration.ts [samples] [login or reset]
// It alternates known and unknown addresses, and prints the medians, their difference, and the area under the ROC curve
// (Mann-Whitney test): 0.5 means no better than a guess.

const samples = Number(process.argv[2] ?? 2_000)
const only = process.argv[3]
const { urls, drop } = await disposableDatabase()
const config = readConfig({
  NODE_ENV: 'test',
  PORT: '0',
  DATABASE_API_URL: urls.api,
  DATABASE_SYSTEM_URL: urls.system,
  DATABASE_WORKER_URL: urls.worker,
  SECRET_KEYS: randomBytes(32).toString('base64url'),
  LOG_LEVEL: 'silent',
  TRUSTED_PROXIES: '127.0.0.1',
})
const serving = await serveApi(config, createLogger('silent', false))

let calls = 0
/** Each call comes from another IP address, so that no attempt counter interferes. */
async function post(path: string, body: object): Promise<number> {
  const n = ++calls
  const from = `2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`
  const started = performance.now()
  const answer = await fetch(`${serving.url}/api/v1/auth/${path}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body: JSON.stringify(body),
  })
  await answer.text()
  if (answer.status === 429)
    throw new Error('An account has reached its daily limit: the figures would mean nothing')
  return performance.now() - started
}

const known: string[] = []
// An account is limited to a hundred failures a day; use enough accounts to stay below.
for (let n = 0; n < Math.ceil(samples / 90); n++) {
  const email = `known${n}@example.com`
  await post('register', { email, password: 'a quiet harbour' })
  known.push(email)
}
const kinds = {
  known: (n: number) => known[n % known.length]!,
  unknown: (n: number) => `unknown${n % known.length}@example.com`,
}

for (const [what, call] of [
  ['login', (email: string) => post('login', { email, password: 'not this one' })],
  ['reset', (email: string) => post('password/reset', { email })],
] as const) {
  if (only !== undefined && only !== what) continue
  const times = { known: [] as number[], unknown: [] as number[] }
  for (let n = -20; n < samples; n++)
    for (const kind of n % 2 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
      const ms = await call(kinds[kind](Math.abs(n)))
      if (n >= 0) times[kind].push(ms)
    }
  const [a, b] = [median(times.known), median(times.unknown)]
  const gap = `${(a - b).toFixed(2)} ms (${((100 * (a - b)) / b).toFixed(2)} %)`
  console.log(
    `${what}: ${samples} samples each, median known ${a.toFixed(2)} ms, unknown ${b.toFixed(2)} ms, gap ${gap}, AUC ${auc(times.known, times.unknown).toFixed(3)}`,
  )
}
await serving.stop()
await drop()

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

/** The probability that a known address took longer than an unknown one. */
function auc(known: number[], unknown: number[]): number {
  const all = [...known.map((ms) => ({ ms, is: 1 })), ...unknown.map((ms) => ({ ms, is: 0 }))].sort(
    (x, y) => x.ms - y.ms,
  )
  const ranks = all.reduce((sum, { is }, index) => sum + (is ? index + 1 : 0), 0)
  return (ranks - (known.length * (known.length + 1)) / 2) / (known.length * unknown.length)
}

import { openPages } from '../test/pages/sign-in/page-client.ts'
import { percentile } from './percentile.ts'
import { rounded } from './requests.ts'
import type { Account, Stage } from './stage.ts'
import { suites } from './suites.ts'

/** Forms that hide whether an address is used answer after this time: src/identity/rate-limits/pad-duration.ts. */
const hiddenMs = 200

/** What a step takes on purpose: a hash of a password, and the time that hides what was found. */
const onPurpose: Record<string, { hash?: true; wait?: true }> = {
  'POST password': { hash: true },
  'POST step-up': { hash: true },
  'POST register': { hash: true, wait: true },
  'POST forgot': { wait: true },
}

/**
 * The pages of the service for one browser after the other, and a bare comparison of a password before each sign-in. Times in
 * ms; a form includes the page that it leads to.
 */
export async function measurePages(
  stage: Stage,
  samples: number,
): Promise<Record<string, string | number>[]> {
  const { servers, accounts } = stage
  const times = new Map<string, number[]>()
  const hashes: number[] = []
  for (let n = -10; n < samples; n++) {
    const account = accounts[Math.abs(n) % accounts.length]!
    const browser = openBrowser(servers.api.url, n < 0 ? new Map() : times)
    const hash = await timeHash(stage, account)
    if (n >= 0) hashes.push(hash)
    await signInAndOut(browser, account)
    await registerAndForget(browser, n)
  }
  const hashMs = percentile(hashes, 0.99)
  return [...times].map(([step, all]) => {
    const { hash, wait } = onPurpose[step] ?? {}
    const [p50, p99] = [percentile(all, 0.5), percentile(all, 0.99)]
    const beside = Math.max(0, p99 - (hash ? hashMs : 0) - (wait ? hiddenMs : 0))
    const purpose = [hash && `hash ${rounded(hashMs)}`, wait && `wait ${hiddenMs}`].filter(Boolean).join(', ')
    return {
      step,
      p50: rounded(p50),
      p99: rounded(p99),
      'on purpose': purpose,
      'p99 beside': rounded(beside),
    }
  })
}

/** How long an endpoint takes that does nothing but compare the password, in ms. */
async function timeHash({ servers }: Stage, account: Account): Promise<number> {
  const { method, path, accounts } = suites.find(({ name }) => name === 'verify')!.load([account])
  const begun = performance.now()
  await fetch(`${servers.bare!.url}${path}`, { method, ...accounts[0]! } as RequestInit).then((answer) =>
    answer.text(),
  )
  return performance.now() - begun
}

type Browser = ReturnType<typeof openBrowser>

/** A browser that notes how long each step takes. */
function openBrowser(url: string, times: Map<string, number[]>) {
  const pages = openPages({ url })
  const timed = async (step: string, work: () => Promise<{ status: number; title: string }>) => {
    const begun = performance.now()
    const { status, title } = await work()
    if (status !== 200) throw new Error(`${step} answered ${status}: ${title}`)
    times.set(step, [...(times.get(step) ?? []), performance.now() - begun])
  }
  return {
    get: (path: string, step = path) =>
      timed(`GET ${step}`, () => pages.visit(path.startsWith('/') ? path : `/sign-in/${path}/`)),
    post: (step: string, fields: Record<string, string>, to?: string) =>
      timed(`POST ${step}`, () => pages.send(fields, to)),
  }
}

async function signInAndOut({ get, post }: Browser, { email, password }: Account): Promise<void> {
  await get('/sign-in/?return_to=/docs', 'address')
  await post('address', { email })
  await get('/sign-in/password/?return_to=/docs', 'password')
  await post('password', { password })
  await get('organisation')
  await get('/sign-in/step-up/?return_to=/docs', 'step-up')
  await post('step-up', { password })
  await get('/sign-in/', 'who is signed in')
  await post('sign-out', {}, 'sign-out')
}

async function registerAndForget({ get, post }: Browser, n: number): Promise<void> {
  const email = `newcomer${n}.${Date.now()}@bench.example`
  await get('register')
  await post('register', { email, password: 'a nanosecond of wire' })
  await get('register/sent')
  await get('forgot')
  await post('forgot', { email })
  await get(`/reset-password?token=${'t'.repeat(43)}`, 'a mailed link')
}

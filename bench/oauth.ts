import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { join } from 'node:path'
import { openPages } from '../test/pages/sign-in/page-client.ts'
import { cpuOf, cpuOfTree } from './cpu.ts'
import { rounded } from './requests.ts'
import { type Account, end, postAs, type Stage, serve } from './stage.ts'

// What a use of the endpoints for programs costs: of this service with Postgres, and of the library alone, which keeps its
// models in memory. Both sign ID tokens with the same algorithm and length of key.

export const redirectUri = 'https://app.example.com/callback'
export const scope = 'openid profile email'
export const codeVerifier = 'v'.repeat(43)
export const codeChallenge = hash('sha256', codeVerifier, 'base64url')
/** RSA of 3,072 bits, as the service makes its keys. */
export const modulusLength = 3_072

/** An application at one of the two servers. */
interface Party {
  url: string
  id: string
  secret: string
  codes: string[]
  cpu(): { server: number; postgres: number }
}

interface Tokens {
  access_token: string
  refresh_token: string
}

/** CPU in ms for each of `count` uses. A code lives for a minute, in which the pages give some 2,000. */
export async function measureOAuth(stage: Stage, count: number): Promise<Record<string, string | number>[]> {
  const memory = await serve(
    [join(import.meta.dirname, 'oauth-in-memory.ts')],
    { COUNT: String(count) },
    '/codes',
  )
  try {
    const { id, secret } = await makeClient(stage)
    const reference = await fetch(`${memory.url}/codes`)
    const theirs: Party = {
      ...{ url: memory.url, id: 'bench', secret: 'bench' },
      codes: (await reference.json()) as string[],
      cpu: () => ({ server: cpuOf(memory.child.pid!), postgres: 0 }),
    }
    const ours: Party = {
      ...{ url: stage.servers.api.url, id, secret },
      codes: await codesOf(stage, id, count),
      cpu: () => ({ server: cpuOf(stage.servers.api.pid), postgres: cpuOfTree(stage.postgresPid) }),
    }
    const [inMemory, own] = [await measure(theirs), await measure(ours)]
    const signature = signatureMs()
    return Object.entries(own).map(([request, { server, postgres }]) => {
      const aside = request === 'userinfo' ? 0 : signature
      const least = inMemory[request]!.server
      return {
        request,
        server: rounded(server),
        postgres: rounded(postgres),
        'in memory': rounded(least),
        'without signature': rounded(server - aside),
        'in memory without': rounded(least - aside),
        ratio: rounded((server - aside) / (least - aside)),
      }
    })
  } finally {
    await end(memory.child)
  }
}

async function makeClient({ accounts, servers }: Stage): Promise<{ id: string; secret: string }> {
  const clients = `${servers.api.url}/api/v1/oauth-clients/`
  const body = { name: 'Bench', redirect_uris: [redirectUri], first_party: true }
  const { id } = await postAs(accounts[0]!.access, clients, body)
  const { secret } = await postAs(accounts[0]!.access, `${clients}${id}/secrets/`, {})
  return { id: id!, secret: secret! }
}

/** Codes of one browser, which is signed in. */
async function codesOf({ accounts, servers }: Stage, client_id: string, count: number): Promise<string[]> {
  const { email, password } = accounts[0]! as Account
  const browser = openPages({ url: servers.api.url })
  await browser.visit('/sign-in/')
  await browser.send({ email })
  await browser.send({ password })
  const query = new URLSearchParams({
    ...{ client_id, scope, redirect_uri: redirectUri, response_type: 'code', prompt: 'none' },
    ...{ code_challenge: codeChallenge, code_challenge_method: 'S256' },
  })
  return inTurns(Array.from({ length: count }), async () => {
    const { refresh } = await browser.visit(`/oauth/authorize?${query}`)
    const code = new URL(refresh!).searchParams.get('code')
    if (!code) throw new Error(`The pages lead to ${refresh}`)
    return code
  })
}

async function measure(party: Party): Promise<Record<string, { server: number; postgres: number }>> {
  const token = async (fields: Record<string, string>): Promise<Tokens> => {
    const headers = { authorization: `Basic ${btoa(`${party.id}:${party.secret}`)}` }
    return ask(`${party.url}/oauth/token`, { method: 'POST', headers, body: new URLSearchParams(fields) })
  }
  const exchange = (code: string) =>
    token({ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier })
  const refresh = ({ refresh_token }: Tokens) => token({ grant_type: 'refresh_token', refresh_token })
  const userinfo = ({ access_token }: Tokens) =>
    ask(`${party.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${access_token}` } })
  const figures: Record<string, { server: number; postgres: number }> = {}
  const timed = async <From, To>(name: string, each: From[], use: (from: From) => Promise<To>) => {
    const before = party.cpu()
    const all = await inTurns(each, use)
    const after = party.cpu()
    figures[name] = {
      server: (after.server - before.server) / each.length,
      postgres: (after.postgres - before.postgres) / each.length,
    }
    return all
  }
  // The first third warms up.
  const third = Math.floor(party.codes.length / 3)
  const first = await inTurns(party.codes.slice(0, third), exchange)
  await inTurns(await inTurns(first, refresh), userinfo)
  const given = await timed('exchange', party.codes.slice(third), exchange)
  const renewed = await timed('refresh', given, refresh)
  await timed('userinfo', renewed, userinfo)
  return figures
}

async function ask(url: string, init: RequestInit): Promise<Tokens> {
  const answer = await fetch(url, init)
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Tokens
}

/** Does something with each, eight at a time. */
async function inTurns<From, To>(each: From[], work: (from: From) => Promise<To>): Promise<To[]> {
  const done: To[] = []
  const left = each.entries()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const [index, one] of left) done[index] = await work(one)
    }),
  )
  return done
}

/** CPU of one signature of RS256, in ms. */
function signatureMs(): number {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength })
  const [rounds, text] = [200, Buffer.alloc(600)]
  const before = process.cpuUsage()
  for (let n = 0; n < rounds; n++) sign('sha256', text, privateKey)
  return process.cpuUsage(before).user / 1_000 / rounds
}

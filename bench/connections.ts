import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../src/start/development/embedded-postgres.ts'
import { query } from '../test/helpers/query.ts'
import { openPages } from '../test/pages/sign-in/page-client.ts'
import { percentile } from './percentile.ts'
import { rounded } from './requests.ts'
import type { Stage } from './stage.ts'

/** So many tenants have a connection and a domain. */
const many = 10_000

/**
 * The pages of a sign-in for one browser after the other, beside one connection and beside ten thousand, in turns: what the machine does
 * meanwhile is the same for both. Times in ms.
 */
export async function measureConnections(
  stage: Stage,
  samples: number,
): Promise<Record<string, string | number>[]> {
  const { superuserUrl } = await startEmbeddedPostgres({ dataDir: stage.config.DATA_DIR })
  const { pathname } = new URL(stage.config.DATABASE_API_URL!)
  const url = Object.assign(new URL(superuserUrl), { pathname }).href
  await add(url, 0, 1)
  const [few, beside] = [new Map<string, number[]>(), new Map<string, number[]>()]
  const rounds = 5
  for (let round = -1; round < rounds; round++)
    for (const times of [few, beside]) {
      if (times === beside) await add(url, 1, many)
      // What Postgres writes of so many rows is over before the measurement.
      for (const after of ['vacuum analyze', 'checkpoint']) await query(url, after)
      await sleep(3_000)
      for (let n = 0; n < samples / rounds; n++)
        await signIn(stage.servers.api.url, n, round < 0 ? new Map() : times)
      if (times === beside) await remove(url)
    }
  return [...few].map(([step, all]) => {
    const more = beside.get(step)!
    const [p50, p99] = [0.5, 0.99].map((part) => [percentile(all, part), percentile(more, part)])
    return {
      step,
      'p50, 1': rounded(p50![0]!),
      [`p50, ${many}`]: rounded(p50![1]!),
      'p99, 1': rounded(p99![0]!),
      [`p99, ${many}`]: rounded(p99![1]!),
      'p50 ratio': rounded(p50![1]! / p50![0]!),
      'p99 ratio': rounded(p99![1]! / p99![0]!),
    }
  })
}

const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const ids = `('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid`

/** Tenants from number `from` on, each with an active connection and a verified domain. */
const add = (url: string, from: number, count: number) =>
  query(
    url,
    `with numbers as (select generate_series(${from}, ${from + count - 1}) as n),
     tenants_made as (insert into tenants (id, name, slug, created_at, updated_at)
       select ${ids}, 'Tenant ' || n, 'connected-' || n, now(), now() from numbers returning id),
     domains_made as (insert into domains (tenant_id, id, domain, status, record_value, route, subdomains, verified_at, asked_at,
         created_by, created_at, updated_at)
       select ${ids}, ${ids}, 'd' || n || '.bench.example', 'verified', '', 'always', false, now(), now(), ${ids}, now(), now()
       from numbers)
     insert into connections (tenant_id, id, name, kind, status, config, client_secret_sealed, subject_attribute, mapping, jit,
       trusts_mfa, activated_by, activated_at, activator, created_by, created_at, updated_at)
     select ${ids}, ${ids}, 'Nordwind', 'oidc', 'active',
       '{"issuer": "https://login.bench.example", "client_id": "bench", "scopes": ["openid"]}', '', 'sub', '[]', 'off',
       false, ${ids}, now(), '{"systemRoles": ["owner"], "permissions": []}', ${ids}, now(), now() from numbers`,
  )

async function remove(url: string): Promise<void> {
  for (const [table, column] of [
    ['connections', 'id'],
    ['domains', 'id'],
    ['tenants', 'id'],
  ])
    await query(
      url,
      `delete from ${table} where ${column}::text like '00000000-0000-4000-8000-%' and ${column} <> '${idOf(0)}'`,
    )
}

/** What a browser asks for that gives an address, chooses a connection, and comes back with an answer that no one waits for. */
async function signIn(url: string, n: number, times: Map<string, number[]>): Promise<void> {
  const pages = openPages({ url })
  const timed = async (
    step: string,
    status: number,
    work: () => Promise<{ status: number; title: string }>,
  ) => {
    const begun = performance.now()
    const seen = await work()
    if (seen.status !== status) throw new Error(`${step} answered ${seen.status}: ${seen.title}`)
    times.set(step, [...(times.get(step) ?? []), performance.now() - begun])
  }
  await timed('GET sign-in', 200, () => pages.visit('/sign-in/'))
  await timed('POST address', 200, () => pages.send({ email: `ada${n}@d0.bench.example` }))
  await timed('GET with', 200, () => pages.visit(`/sign-in/with/${idOf(0)}/`))
  const answer = new URLSearchParams({ code: randomUUID(), state: randomUUID() })
  await timed('GET callback', 400, () => pages.visit(`/sign-in/callback/${idOf(0)}/?${answer}`))
}

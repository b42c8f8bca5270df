import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import t from 'tap'
import { startService } from '../helpers/service.ts'

const folder = join(import.meta.dirname, '..', '..', 'docs', 'how-to')
const page = readFileSync(join(folder, 'use-from-your-application.md'), 'utf8')
const source = readFileSync(join(folder, 'examples', 'bailiwick.ts'), 'utf8')

t.test('the page shows the code that this test runs', async (t) => {
  const regions = [...source.matchAll(/^\/\/ #region \w+\n(.*?)\n\/\/ #endregion$/gms)].map(
    ([, code]) => code,
  )
  const shown = [...page.matchAll(/^```ts\n(.*?)\n```$/gms)].map(([, code]) => code)
  t.ok(regions.length >= 4)
  t.strictSame(shown, regions)
})

t.test('an application can verify, refresh, switch tenants and ask as the page describes', async (t) => {
  const service = await startService(t)
  service.advance(Date.now() - service.now()) // jose uses the clock of the machine
  const post = async (path: string, body: unknown, token?: string) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const answer = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await answer.json()) as Record<string, string>
  }
  const person = { email: 'app@example.com', password: 'a quiet harbour of ours' }
  await post('/api/v1/auth/register/', person)
  const pair = await post('/api/v1/auth/login/', person)
  process.env.BAILIWICK_URL = service.url
  process.env.BAILIWICK_ISSUER = decodeJwt(pair.access!).iss
  const { verifyAccessToken, keepFresh, isAllowed } = await import('../../docs/how-to/examples/bailiwick.ts')

  const claims = await verifyAccessToken(pair.access!)
  t.same(claims.roles, ['owner'])
  await t.rejects(verifyAccessToken(pair.refresh!), 'a refresh token is no access token')

  t.equal(await isAllowed(pair.access!, 'door:open', { type: 'door', id: '1' }), true, 'owners are allowed')
  t.equal(
    await isAllowed(`${pair.access!.slice(0, -4)}AAAA`, 'door:open', { type: 'door', id: '1' }),
    false,
    'a token that does not verify is no',
  )

  const session = keepFresh({ access: 'expired', refresh: pair.refresh! })
  const answers = await Promise.all([1, 2, 3].map(() => session.call('/api/v1/users/me/')))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200],
    'three calls share one refresh',
  )

  const created = await session.call('/api/v1/tenants/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"name":"Second"}',
  })
  const { id } = (await created.json()) as { id: string }
  await session.switchTenant(id)
  const me = (await (await session.call('/api/v1/users/me/')).json()) as { current_tenant: { id: string } }
  t.equal(me.current_tenant.id, id)
})

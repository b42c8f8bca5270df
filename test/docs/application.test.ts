import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
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

/** The Python of the system has the packages of Debian, also where another comes first. */
const python = ['python3', '/usr/bin/python3'].find(
  (name) => spawnSync(name, ['-c', 'import jwt, cryptography']).status === 0,
)

t.test(
  'the Python of the page takes access tokens alone',
  { skip: !python && 'no python3 with PyJWT here' },
  async (t) => {
    const [, program = ''] = /^```python\n(.*?)^```$/ms.exec(page) ?? []
    const service = await startService(t)
    service.advance(Date.now() - service.now()) // PyJWT uses the clock of the machine
    const person = await service.register()
    const login = async () => (await service.call('POST', '/api/v1/auth/login/', { body: person })).body
    const { access, refresh } = await login()
    const { iss } = decodeJwt<{ iss: string }>(access)
    const verdicts = async (tokens: string[], env = {}) => {
      const ask = `${program}
import sys
for token in sys.argv[1:]:
    try:
        print(verify_access_token(token)["sub"])
    except jwt.PyJWTError:
        print("refused")
`
      const settings = { ...process.env, BAILIWICK_URL: service.url, BAILIWICK_ISSUER: iss, ...env }
      const { stdout } = await promisify(execFile)(python!, ['-c', ask, ...tokens], { env: settings })
      return stdout.trim().split('\n')
    }
    const [header, claims, signature] = access.split('.')
    const otherType = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')
    const forged = [
      `${otherType}.${claims}.`,
      `${header}.${claims}.${signature.slice(0, -4)}AAAA`,
      'bwk_1',
      '',
    ]
    t.strictSame(await verdicts([access, refresh, ...forged]), [
      decodeJwt(access).sub,
      ...Array(5).fill('refused'),
    ])
    t.strictSame(await verdicts([refresh], { BAILIWICK_AUDIENCE: iss }), ['refused'], 'by its type alone')
    t.strictSame(await verdicts([access], { BAILIWICK_ISSUER: 'https://other.example' }), ['refused'])
  },
)

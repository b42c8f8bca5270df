import { randomBytes } from 'node:crypto'
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  jwtVerify,
} from 'jose'
import pg from 'pg'
import t from 'tap'
import { reseal } from '../../../src/cli/commands/keys.ts'
import { createSealer } from '../../../src/crypto/seal.ts'
import { createTokenSigner } from '../../../src/crypto/token-signer.ts'
import { openPool } from '../../../src/database/executor/pool.ts'
import { assertOutside } from '../../../src/database/executor/transaction.ts'
import { assertKeysOpen, sealedColumns } from '../../../src/database/reseal.ts'
import { ensureIdTokenKey, loadKeyRing } from '../../../src/identity/keys/key-ring.ts'
import { watchKeyRing } from '../../../src/identity/keys/key-ring-watch.ts'
import { revokeKey } from '../../../src/identity/keys/revoke-key.ts'
import { rotateKeys } from '../../../src/identity/keys/rotate-keys.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { openDeps } from '../../../src/start/open-deps.ts'
import { startService } from '../../helpers/service.ts'

const second = 1_000
const service = await startService(t, { workers: false })
const { deps } = service
const ringOf = (more: object = {}) =>
  loadKeyRing({
    ...deps,
    ...more,
    config: { ...deps.config, ...('config' in more ? (more.config as object) : {}) },
  })
const kids = (ring: { keys: readonly { kid: string }[] }) => ring.keys.map((key) => key.kid)
const person = '00000000-0000-7000-8000-000000000001'
const claims = () => ({
  sub: person,
  sid: '00000000-0000-7000-8000-000000000002',
  tenant_id: '00000000-0000-7000-8000-000000000003',
  jti: 'id',
  iat: Math.floor(service.now() / 1000),
  exp: Math.floor(service.now() / 1000) + 900,
})
const accessClaims = () => ({
  ...claims(),
  user_id: person,
  email: 'ada@example.com',
  roles: [],
  auth_time: claims().iat,
  acr: 'aal1' as const,
  amr: ['pwd'],
})
const refreshClaims = () => ({ ...claims(), fid: '00000000-0000-7000-8000-000000000004', gen: 0 })

t.test(
  'a new key is published first and signs after 90 s; the old key verifies as long as its tokens are valid',
  async (t) => {
    service.advance(100 * second)
    const before = await ringOf()
    const [old] = kids(before)
    const signer = createTokenSigner(() => before)
    const token = await signer.sign('refresh', { ...refreshClaims(), exp: claims().exp + 7 * 86_400 })
    const { kid, signsAt } = await rotateKeys(deps)
    t.equal(signsAt, service.now() + 90 * second)
    t.same(kids(await ringOf()), [old, kid], 'the new key is published, the old one signs')
    service.advance(89 * second)
    t.equal(kids(await ringOf())[0], old)
    service.advance(second)
    const after = await ringOf()
    t.same(kids(after), [kid, old], 'the new key signs')
    t.ok(await createTokenSigner(() => after).verify('refresh', token, service.now()))
    service.advance(7 * 86_400 * second)
    t.same(kids(await ringOf()), [kid, old], 'a token signed at the last moment can still be valid')
    service.advance(66 * second)
    t.same(kids(await ringOf()), [kid])
    await rotateKeys(deps)
    const client = new pg.Client({ connectionString: service.databases.superuser })
    await client.connect()
    const { rows } = await client.query('select kid from signing_keys')
    await client.end()
    t.notOk(
      rows.some((row) => row.kid === old),
      'the next rotation deletes the old key',
    )
  },
)

t.test('parallel rotations each make a key and leave one that signs', async (t) => {
  const made = await Promise.all([1, 2, 3].map(() => rotateKeys(deps)))
  service.advance(90 * second)
  const [signs, ...others] = kids(await ringOf())
  t.ok(made.some(({ kid }) => kid === signs))
  for (const { kid } of made) t.ok(kid === signs || others.includes(kid))
})

t.test('a process that does not know the key yet reads the keys again, at most every 5 s', async (t) => {
  let reads = 0
  const watch = await watchKeyRing(() => {
    reads++
    return ringOf()
  }, deps.log)
  t.teardown(() => watch.close())
  const { kid } = await rotateKeys(deps)
  service.advance(90 * second)
  const elsewhere = await ringOf()
  const token = await createTokenSigner(() => elsewhere).sign('access', accessClaims())
  t.equal(decodeProtectedHeader(token).kid, kid)
  t.notOk(kids(watch.now()).includes(kid))
  const signer = createTokenSigner(watch.now, watch.lookAgain)
  t.equal(reads, 1)
  const found = await Promise.all(
    Array.from({ length: 20 }, () => signer.verify('access', token, service.now())),
  )
  t.equal(found.length, 20)
  t.equal(reads, 2)
  const forged = `${Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'no-such', typ: 'at+jwt' })).toString('base64url')}.e30.AAAA`
  for (let n = 0; n < 50; n++)
    await t.rejects(signer.verify('access', forged, service.now()), { code: 'token_not_valid' })
  t.equal(reads, 2, 'forged tokens do not reach the database')
})

t.test(
  'tokens from before and after a rotation are accepted, and the JWKS has both keys and nothing private',
  async (t) => {
    const ada = await service.signUp()
    await rotateKeys(deps)
    t.equal((await ada.get('/api/v1/users/me/')).status, 200)
    const { body } = await service.call('GET', '/.well-known/jwks.json')
    t.ok(body.keys.length >= 1)
    for (const key of body.keys) {
      t.same(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
      t.match(key, { use: 'sig', alg: 'ES256' })
    }
    const { payload } = await jwtVerify(ada.access, createLocalJWKSet(body), {
      issuer: (await ringOf()).issuer,
      audience: 'bailiwick',
      typ: 'at+jwt',
      currentDate: new Date(service.now()),
    })
    t.match(payload, { sub: ada.id, user_id: ada.id, token_type: 'access' })
  },
)

for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const)
  t.test(
    `JWT_ALGORITHM=${algorithm} makes keys that work together with those of other algorithms`,
    async (t) => {
      const config = { ...deps.config, JWT_ALGORITHM: algorithm }
      service.advance(second)
      const { kid } = await rotateKeys({ ...deps, config })
      service.advance(90 * second)
      const ring = await ringOf({ config })
      const signer = createTokenSigner(() => ring)
      const token = await signer.sign('access', accessClaims())
      t.match(decodeProtectedHeader(token), { alg: algorithm, kid, typ: 'at+jwt' })
      t.match(await signer.verify('access', token, service.now()), { sub: person })
    },
  )

t.test('the audience of applications must differ from the issuer, however that is set', async (t) => {
  const issuer = 'https://id.example.com'
  for (const name of ['JWT_ISSUER', 'PUBLIC_URL']) {
    const env = { NODE_ENV: 'test', [name]: issuer }
    t.throws(() => readConfig({ ...env, JWT_AUDIENCE: issuer }), {
      message: /JWT_AUDIENCE must differ from the issuer/,
    })
    t.equal(readConfig({ ...env, JWT_AUDIENCE: 'shop' }).JWT_AUDIENCE, 'shop')
  }
})

t.test(
  'JWT_PRIVATE_KEYS as a JWK set or as PEM replaces the keys in Postgres, and its first key signs',
  async (t) => {
    const pairs = await Promise.all(
      (['EdDSA', 'ES256', 'RS256'] as const).map((algorithm) =>
        generateKeyPair(algorithm, { extractable: true, modulusLength: 3_072 }),
      ),
    )
    const pem = (await Promise.all(pairs.map((pair) => exportPKCS8(pair.privateKey)))).join('\n')
    const set = JSON.stringify({ keys: await Promise.all(pairs.map((pair) => exportJWK(pair.privateKey))) })
    const rings = []
    for (const JWT_PRIVATE_KEYS of [pem, set]) {
      const config = { ...deps.config, JWT_PRIVATE_KEYS }
      const ring = await ringOf({ config })
      rings.push(ring)
      t.same(
        ring.keys.map((key) => key.algorithm),
        ['EdDSA', 'ES256', 'RS256'],
      )
      const signer = createTokenSigner(() => ring)
      const token = await signer.sign('access', accessClaims())
      t.match(decodeProtectedHeader(token), { alg: 'EdDSA', kid: ring.keys[0]!.kid })
      t.ok(await signer.verify('access', token, service.now()))
      for (const key of signer.jwks().keys) t.notOk('d' in key || 'p' in key)
      await t.rejects(rotateKeys({ ...deps, config }), { message: /JWT_PRIVATE_KEYS/ })
    }
    t.same(kids(rings[0]!), kids(rings[1]!), 'a kid is the thumbprint in both forms')
    const short = await generateKeyPair('RS256', { extractable: true, modulusLength: 2_048 })
    const shortSet = JSON.stringify({ keys: [await exportJWK(short.privateKey)] })
    for (const JWT_PRIVATE_KEYS of [await exportPKCS8(short.privateKey), shortSet])
      await t.rejects(ringOf({ config: { ...deps.config, JWT_PRIVATE_KEYS } }), {
        message: /^JWT_PRIVATE_KEYS holds an RSA key of 2048 bits\. RSA needs at least 3072: make one/,
      })
    const publicOnly = JSON.stringify({ keys: [await exportJWK(pairs[0]!.publicKey)] })
    for (const JWT_PRIVATE_KEYS of [
      'nonsense',
      '{"keys":[]}',
      '{"secret-part',
      '{"keys":[null]}',
      publicOnly,
    ])
      await t.rejects(ringOf({ config: { ...deps.config, JWT_PRIVATE_KEYS } }), {
        message: /^JWT_PRIVATE_KEYS must hold private keys/,
      })
  },
)

t.test('the issuer is JWT_ISSUER, else the public address, which is localhost in development', async (t) => {
  const port = new URL(service.url).port
  t.equal((await ringOf()).issuer, `http://localhost:${port}`)
  const PUBLIC_URL = 'https://id.example.com'
  t.equal((await ringOf({ publicUrl: () => PUBLIC_URL })).issuer, PUBLIC_URL)
  const config = { PUBLIC_URL, JWT_ISSUER: 'https://issuer.example.com' }
  t.equal((await ringOf({ config })).issuer, 'https://issuer.example.com')
})

t.test(
  'in development tokens of an earlier address or id stay valid, those of any other issuer are refused',
  async (t) => {
    const issuers = [
      ['http://localhost:3000', true],
      ['urn:bailiwick:00000000-0000-7000-8000-000000000009', true],
      ['https://other.example.com', false],
      ['http://localhost.example.com:3000', false],
    ] as const
    for (const [JWT_ISSUER, isValid] of issuers) {
      const earlier = await ringOf({ config: { JWT_ISSUER } })
      const token = await createTokenSigner(() => earlier).sign('refresh', refreshClaims())
      for (const production of [false, true]) {
        const ring = await ringOf({ config: { production } })
        const verified = createTokenSigner(() => ring).verify('refresh', token, service.now())
        if (isValid && !production) t.match(await verified, { sub: person })
        else await t.rejects(verified, { code: 'token_not_valid' }, `${JWT_ISSUER}, ${production}`)
      }
    }
  },
)

t.test(
  'reseal seals values of an older key of SECRET_KEYS again, and then the older key is not needed',
  async (t) => {
    const other = await startService(t, { workers: false })
    const ada = await other.signUp()
    const [old] = other.deps.config.SECRET_KEYS!
    const fresh = randomBytes(32)
    const config = { ...other.deps.config, SECRET_KEYS: [fresh, old!] }
    const { exit, data } = await reseal(config)
    t.equal(exit, 0)
    const report = data as { tables: { table: string; resealed: number; lost: number }[] }
    t.match(
      report.tables.find((entry) => entry.table === 'signing_keys'),
      { resealed: 1, lost: 0 },
    )
    t.match(
      report.tables.find((entry) => entry.table === 'mails'),
      { resealed: 1, lost: 0 },
    )
    const sealer = createSealer([fresh])
    const ring = await loadKeyRing({ ...other.deps, sealer, config })
    t.ok(await createTokenSigner(() => ring).verify('access', ada.access, other.now()))
    t.match((await reseal(config)).text, 'signing_keys: 0 sealed again')
    const stranger = { ...config, SECRET_KEYS: [randomBytes(32)] }
    t.equal((await reseal(stranger)).exit, 1, 'reseal reports values that it cannot open')
  },
)

t.test('reseal knows every sealed column', async (t) => {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  const { rows } = await client.query(
    "select table_name || '.' || column_name as name from information_schema.columns where table_schema = 'public' and column_name like '%sealed%' and data_type = 'bytea' order by 1",
  )
  await client.end()
  t.same(
    sealedColumns.map(({ table, column }) => `${table}.${column}`).sort(),
    rows.map((row) => row.name),
  )
})

t.test('looking for sealed mails does not read the many that were sent', async (t) => {
  const { tenantId } = await service.signUp()
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  t.teardown(() => client.end())
  await client.query(`
    update mails set content_sealed = null;
    insert into mails (tenant_id, id, template, status, created_at)
      select '${tenantId}', gen_random_uuid(), 'password_changed', 'sent', now() from generate_series(1, 5000);`)
  await client.query('vacuum analyze mails')
  const scans = async () => {
    const { rows } = await client.query(
      "select seq_scan::int as scans from pg_stat_user_tables where relname = 'mails'",
    )
    return rows[0].scans
  }
  const before = await scans()
  const worker = await openPool(service.databases.worker, {
    size: 1,
    prepared: false,
    applicationName: 'test',
  })
  await assertKeysOpen({ worker }, deps.sealer)
  await worker.end() // its last statistics are counted now
  while ((await client.query("select from pg_stat_activity where application_name = 'test'")).rowCount) {}
  t.equal(await scans(), before)
})

t.test('a refresh token survives a restart and a change of SECRET_KEYS that keeps the old key', async (t) => {
  const other = await startService(t, { workers: false })
  const ada = await other.signUp()
  const [old] = other.deps.config.SECRET_KEYS!
  const config = readConfig({
    NODE_ENV: 'test',
    DATABASE_API_URL: other.databases.api,
    DATABASE_SYSTEM_URL: other.databases.system,
    DATABASE_WORKER_URL: other.databases.worker,
    SECRET_KEYS: [randomBytes(32), old!].map((key) => key.toString('base64url')).join(','),
  })
  const restarted = await openDeps({
    config,
    log: deps.log,
    publicUrl: other.deps.publicUrl,
    clock: other.now,
  })
  t.teardown(() => restarted.close())
  t.ok(await restarted.signer.verify('refresh', ada.refresh, other.now()))
})

t.test('keys are generated outside of transactions, because that takes up to seconds', async (t) => {
  const sealer: typeof deps.sealer = {
    ...deps.sealer,
    seal(...args) {
      assertOutside()
      return deps.sealer.seal(...args)
    },
  }
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  await client.query('delete from signing_keys')
  await client.end()
  const [first, ...others] = kids(await ringOf({ sealer }))
  t.same(others, [])
  const revoked = await revokeKey({ ...deps, sealer }, first!)
  t.same(kids(await ringOf()), [revoked?.newKid])
  t.equal(await revokeKey({ ...deps, sealer }, first!), null)
})

t.test(
  'ID tokens have a key of their own, made when it is needed first, which no token of the API uses',
  async (t) => {
    t.same((await ringOf()).idTokenKeys, [])
    await Promise.all([1, 2].map(() => ensureIdTokenKey(deps)))
    const ring = await ringOf()
    const [first, ...others] = ring.idTokenKeys
    t.same(others, [], 'parallel calls make one')
    t.match(first, { algorithm: 'RS256', publicJwk: { alg: 'RS256', kty: 'RSA' } })
    const signer = createTokenSigner(() => ring)
    t.same(
      signer.jwks().keys.map(({ alg }) => alg),
      [...ring.keys.map(({ algorithm }) => algorithm), 'RS256'],
    )
    t.notMatch(JSON.stringify(signer.jwks()), /"(d|p|q|dp|dq|qi|k)":/, 'no private members')
    const forger = createTokenSigner(() => ({ ...ring, keys: ring.idTokenKeys }))
    for (const [kind, claims] of [
      ['access', accessClaims()],
      ['refresh', refreshClaims()],
    ] as const)
      await t.rejects(signer.verify(kind, await forger.sign(kind, claims as never), service.now()), {
        code: 'token_not_valid',
      })
  },
)

t.test('a rotation renews the keys of ID tokens, too: published 90 s before they sign', async (t) => {
  await ensureIdTokenKey(deps)
  service.advance(90 * second)
  const [old] = (await ringOf()).idTokenKeys
  const { kid, idTokenKid } = await rotateKeys(deps)
  t.ok(idTokenKid && idTokenKid !== kid)
  const idKids = async () => (await ringOf()).idTokenKeys.map((key) => key.kid)
  t.same(await idKids(), [old!.kid, idTokenKid])
  service.advance(90 * second)
  t.same(await idKids(), [idTokenKid, old!.kid])
  t.equal(kids(await ringOf())[0], kid)
  await revokeKey(deps, old!.kid)
  const revoked = await revokeKey(deps, idTokenKid!)
  t.same(await idKids(), [revoked?.newKid])
})

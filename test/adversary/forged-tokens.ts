import { createHmac, createSign, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { CompactEncrypt, SignJWT } from 'jose'
import { loadKeyRing } from '../../src/identity/keys/key-ring.ts'
import { type Client, claimsOf, type Service } from '../helpers/service.ts'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** The same octets in base64url, with another last letter: 64 octets leave four bits over. */
const withOtherLastBits = (text: string) =>
  `${text.slice(0, -1)}${letters[letters.indexOf(text.at(-1)!) ^ 1]}`

/** Tokens that no consumer may accept. */
export interface Forgeries {
  /** By what is wrong with them. */
  cases: Record<string, string>
  /** Tokens signed by our own key, in which one claim has a value of a wrong type; `more` are members of the header. */
  oddClaims(of: Record<string, unknown>, more?: object): Promise<Record<string, string>>
  /** Signs claims by our own key; `more` are members of the header. */
  ours(claims: object, more?: object): Promise<string>
  /** How many requests came to the addresses that the tokens name. */
  fetched(): number
  close(): void
}

/** Forges tokens after the access token of a person of this service. */
export async function forgeTokens(service: Service, ada: Client): Promise<Forgeries> {
  const { deps } = service
  const ring = await loadKeyRing(deps)
  const [key] = ring.keys
  if (!key) throw new Error('There is no key')
  let outbound = 0
  const trap = createServer((_, response) => {
    outbound++
    response.end('{"keys":[]}')
  }).listen(0, '127.0.0.1')
  const trapUrl = () => `http://127.0.0.1:${(trap.address() as { port: number }).port}/keys.json`

  const b64 = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  const good = claimsOf(ada.access)
  const header = { alg: key.algorithm, kid: key.kid, typ: 'at+jwt' }
  const now = Math.floor(service.now() / 1000)
  const [h64, p64, s64] = ada.access.split('.') as [string, string, string]

  /** Properly signed by our own key: only the header or the claims are wrong. */
  const ours = async (claims: object, more: object = {}) => {
    const input = `${b64({ ...header, ...more })}.${b64(claims)}`
    return `${input}.${await signature(input)}`
  }
  const signature = async (input: string) =>
    Buffer.from(
      await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key.privateKey, Buffer.from(input)),
    ).toString('base64url')
  /** Claims as raw JSON, properly signed. */
  const raw = async (claims: string, head = JSON.stringify(header)) => {
    const input = `${b64(head)}.${b64(claims)}`
    return `${input}.${await signature(input)}`
  }
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const edwards = generateKeyPairSync('ed25519')
  const hmac = (input: string, secret: string) =>
    createHmac('sha256', secret).update(input).digest('base64url')
  const none = (alg: string, tail = '') => `${b64({ ...header, alg })}.${p64}.${tail}`
  const { exp: _exp, ...endless } = good
  const without = (name: string) =>
    Object.fromEntries(Object.entries(good).filter(([claim]) => claim !== name))
  const flip = (text: string, at: number) =>
    `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`

  const cases: Record<string, string> = {
    'alg none': none('none'),
    'alg None': none('None'),
    'alg NONE': none('NONE'),
    'alg nOnE with a signature': none('nOnE', s64),
    'alg empty': none(''),
    'no alg': `${b64({ kid: key.kid, typ: 'at+jwt' })}.${p64}.${s64}`,
    'HS256 with the kid': (() => {
      const input = `${b64({ ...header, alg: 'HS256' })}.${p64}`
      return `${input}.${hmac(input, key.kid)}`
    })(),
    'HS256 with the public key': (() => {
      const input = `${b64({ ...header, alg: 'HS256' })}.${p64}`
      return `${input}.${hmac(input, JSON.stringify(key.publicJwk))}`
    })(),
    'HS256 with an empty secret': (() => {
      const input = `${b64({ ...header, alg: 'HS256' })}.${p64}`
      return `${input}.${hmac(input, '')}`
    })(),
    HS512: `${b64({ ...header, alg: 'HS512' })}.${p64}.${s64}`,
    'RS256 by a key of its own': (() => {
      const input = `${b64({ ...header, alg: 'RS256' })}.${p64}`
      return `${input}.${createSign('RSA-SHA256').update(input).sign(rsa.privateKey).toString('base64url')}`
    })(),
    'PS256 header': `${b64({ ...header, alg: 'PS256' })}.${p64}.${s64}`,
    'ES384 header': `${b64({ ...header, alg: 'ES384' })}.${p64}.${s64}`,
    'EdDSA by a key of its own': (() => {
      const input = `${b64({ ...header, alg: 'EdDSA' })}.${p64}`
      return `${input}.${signBytes(null, Buffer.from(input), edwards.privateKey).toString('base64url')}`
    })(),
    'ES256 by another key, our kid': await new SignJWT(good)
      .setProtectedHeader(header)
      .sign(stranger.privateKey),
    'ES256 by another key, no kid': await new SignJWT(good)
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
      .sign(stranger.privateKey),
    'no signature': `${h64}.${p64}.`,
    'two parts': `${h64}.${p64}`,
    'four parts': `${ada.access}.x`,
    'five parts': `${ada.access}.x.y`,
    'one part': h64,
    'a trimmed signature': ada.access.slice(0, -4),
    'a lengthened signature': `${ada.access}AAAA`,
    'a zero signature': `${h64}.${p64}.${Buffer.alloc(64).toString('base64url')}`,
    'the signature as DER': `${h64}.${p64}.${createSign('SHA256').update(`${h64}.${p64}`).sign(stranger.privateKey).toString('base64url')}`,
    'the first byte of the signature': `${h64}.${p64}.${flip(s64, 0)}`,
    'a byte in the middle of the signature': `${h64}.${p64}.${flip(s64, 40)}`,
    'a byte of the claims': `${h64}.${flip(p64, 20)}.${s64}`,
    'a byte of the header': `${flip(h64, 5)}.${p64}.${s64}`,
    'another person in the claims': `${h64}.${b64({ ...good, sub: '00000000-0000-7000-8000-000000000000' })}.${s64}`,
    'an owner by claim': `${h64}.${b64({ ...good, roles: ['owner', 'admin'] })}.${s64}`,
    'kid a path': await ours(good, { kid: '../../../../dev/null' }),
    'kid SQL': await ours(good, { kid: "' or 1=1 --" }),
    'kid unknown': await ours(good, { kid: 'unknown' }),
    'kid a URL': await ours(good, { kid: trapUrl() }),
    'kid null': await ours(good, { kid: null }),
    'kid a number': await ours(good, { kid: 1 }),
    'kid an array': await ours(good, { kid: [key.kid] }),
    'kid __proto__': await ours(good, { kid: '__proto__' }),
    'no kid': await raw(JSON.stringify(good), JSON.stringify({ alg: key.algorithm, typ: 'at+jwt' })),
    'jku with a key of its own': await new SignJWT(good)
      .setProtectedHeader({ ...header, kid: 'mine', jku: trapUrl() })
      .sign(stranger.privateKey),
    'x5u with a key of its own': await new SignJWT(good)
      .setProtectedHeader({ ...header, kid: 'mine', x5u: trapUrl() })
      .sign(stranger.privateKey),
    'jwk with a key of its own': await new SignJWT(good)
      .setProtectedHeader({
        ...header,
        kid: 'mine',
        jwk: stranger.publicKey.export({ format: 'jwk' }) as never,
      })
      .sign(stranger.privateKey),
    'jwk and our kid': await new SignJWT(good)
      .setProtectedHeader({ ...header, jwk: stranger.publicKey.export({ format: 'jwk' }) as never })
      .sign(stranger.privateKey),
    'crit unknown': await ours(good, { crit: ['exp'] }),
    'crit empty': await ours(good, { crit: [] }),
    'b64 false': await ours(good, { crit: ['b64'], b64: false }),
    'typ JWT': await ours(good, { typ: 'JWT' }),
    'typ of a refresh token': await ours(good, { typ: 'rt+jwt' }),
    'typ of a temporary token': await ours(good, { typ: 'otp+jwt' }),
    'no typ': await raw(JSON.stringify(good), JSON.stringify({ alg: key.algorithm, kid: key.kid })),
    'typ a number': await ours(good, { typ: 1 }),
    'token_type refresh': await ours({ ...good, token_type: 'refresh' }),
    'token_type missing': await ours(without('token_type')),
    expired: await ours({ ...good, exp: now - 6 }),
    'exp now, beyond the tolerance': await ours({ ...good, exp: now - 5 }),
    'no exp': await ours(endless),
    'exp null': await ours({ ...good, exp: null }),
    'exp a string': await ours({ ...good, exp: String(now + 900) }),
    'exp negative': await ours({ ...good, exp: -1 }),
    'exp NaN by 1e999': await raw(JSON.stringify({ ...good, exp: 0 }).replace('"exp":0', '"exp":-1e999')),
    'exp an array': await ours({ ...good, exp: [now + 900] }),
    'nbf in the future': await ours({ ...good, nbf: now + 60 }),
    'nbf a string': await ours({ ...good, nbf: 'now' }),
    'iat a string': await ours({ ...good, iat: 'now' }),
    'no iat': await ours(without('iat')),
    'no sub': await ours(without('sub')),
    'sub a number': await ours({ ...good, sub: 1 }),
    'no sid': await ours(without('sid')),
    'no jti': await ours(without('jti')),
    'no tenant_id': await ours(without('tenant_id')),
    'tenant_id a number': await ours({ ...good, tenant_id: 1 }),
    'wrong iss': await ours({ ...good, iss: 'https://evil.example' }),
    'no iss': await ours(without('iss')),
    'iss an array': await ours({ ...good, iss: [good.iss] }),
    'wrong aud': await ours({ ...good, aud: 'another' }),
    'aud the service itself': await ours({ ...good, aud: good.iss }),
    'no aud': await ours(without('aud')),
    'aud an empty array': await ours({ ...good, aud: [] }),
    'duplicate exp, the later one past': await raw(`${JSON.stringify(good).slice(0, -1)},"exp":1}`),
    'duplicate sub, the later one unknown': await raw(
      `${JSON.stringify(good).slice(0, -1)},"sub":"00000000-0000-7000-8000-000000000000"}`,
    ),
    'claims an array': await raw('[]'),
    'claims null': await raw('null'),
    'claims text': await raw('"text"'),
    'claims not JSON': await raw('{'),
    'header not JSON': `${b64('{')}.${p64}.${s64}`,
    'header an array': `${b64('[]')}.${p64}.${s64}`,
    'header null': `${b64('null')}.${p64}.${s64}`,
    'a JWE': await new CompactEncrypt(Buffer.from(JSON.stringify(good)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: 'at+jwt' })
      .encrypt(Buffer.alloc(32)),
    'standard base64': `${h64}.${p64}.${Buffer.from(s64, 'base64url').toString('base64')}`,
    'base64url with padding': `${h64}.${p64}.${s64}==`,
    'other bits after the last octet': `${h64}.${p64}.${withOtherLastBits(s64)}`,
    'dots alone': '..',
    'a word': 'token',
    'a token of 9 KB': await ours({ ...good, more: 'x'.repeat(9_000) }),
    'a session that does not exist': await ours({ ...good, sid: '00000000-0000-7000-8000-000000000000' }),
    'a session of another person': await ours({
      ...good,
      sub: (await service.signUp()).id,
    }),
  }

  const oddClaims = async (of: Record<string, unknown>, more: object = {}) =>
    Object.fromEntries(
      await Promise.all(
        Object.keys(of).flatMap((claim) =>
          Object.entries(odd)
            .filter(([what]) => claim !== 'email' || what !== 'text of NUL') // any text may be an address
            .map(
              async ([what, value]) =>
                [`${claim} ${what}`, await ours({ ...of, [claim]: value }, more)] as const,
            ),
        ),
      ),
    )

  return { cases, oddClaims, ours, fetched: () => outbound, close: () => trap.close() }
}

/** Values whose types no claim can have. */
const odd = {
  'an object': { a: 1 },
  'an array': [1],
  null: null,
  true: true,
  '1.5': 1.5,
  'text of NUL': '\0',
}

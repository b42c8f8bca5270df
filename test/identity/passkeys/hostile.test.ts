import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { Answer } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { attemptLogin, changeRows } from '../otp/authenticator.ts'
import {
  attemptPasskey,
  type Forgery,
  originOf,
  registerPasskey,
  signInOptions,
  softwareAuthenticator,
  verifyPasskey,
} from './software-passkey.ts'

const api = '/api/v1/auth/passkeys'
const service = await sharedService(t)
const { call } = service
const origin = originOf(service)

const send = (credential: unknown) => call('POST', `${api}/login/`, { body: { credential } })
const refused = { status: 400, body: { code: 'passkey_invalid', access: undefined } }
/** The refusal without what differs from request to request. */
const shapeOf = ({ status, body }: Answer) => ({ status, ...body, instance: undefined })

const owner = await service.signUp()
const { authenticator, passkey } = await registerPasskey(service, owner)

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const counterAt = (count: number) => (data: Buffer) => void data.writeUInt32BE(count, 33)

const forgeries: Record<string, Forgery> = {
  'another origin': { clientData: { origin: 'https://evil.example' } },
  'an origin below the domain': { clientData: { origin: origin.replace('localhost', 'evil.localhost') } },
  'another port': { clientData: { origin: 'http://localhost:1' } },
  'the origin with an IP address': { clientData: { origin: origin.replace('localhost', '127.0.0.1') } },
  'a frame in another page': { clientData: { crossOrigin: true } },
  'another relying party': { data: (data) => void data.fill(7, 0, 32) },
  'a challenge that the service did not make': {
    clientData: { challenge: randomBytes(32).toString('base64url') },
  },
  'an empty challenge': { clientData: { challenge: '' } },
  'a registration in place of a use': { clientData: { type: 'webauthn.create' } },
  'no user verification': { data: (data) => void data.writeUInt8(data.readUInt8(32) & ~0x04, 32) },
  'no user presence': { data: (data) => void data.writeUInt8(data.readUInt8(32) & ~0x01, 32) },
  'a counter that falls': { data: counterAt(1) },
  'a counter that stands still at 0': { data: counterAt(0) },
}

t.test('a sign-in with a passkey is refused in one shape, whatever is wrong', async (t) => {
  // The counter has to be above 1 before it can fall.
  for (const _ of [1, 2]) t.equal((await attemptPasskey(service, authenticator)).status, 200)
  const shapes = new Set<string>()
  let checked = 0
  const check = async (name: string, answer: Answer) => {
    t.match(answer, refused, name)
    shapes.add(JSON.stringify(shapeOf(answer)))
    service.advance(61_000)
    // A right answer ends the row of wrong ones, so that the account is not locked.
    if (++checked % 5 === 0) t.equal((await attemptPasskey(service, authenticator)).status, 200)
  }
  for (const [name, forgery] of Object.entries(forgeries))
    await check(name, await send(authenticator.forge(await signInOptions(service), forgery)))

  const honest = authenticator.get(await signInOptions(service))
  const tampered = (change: Record<string, unknown>) => ({
    ...honest,
    response: { ...honest.response, ...change },
  })
  await check('another signature', await send(tampered({ signature: encoded('x') })))
  await check('the challenge of a refused answer', await send(honest))
  const next = async () => authenticator.get(await signInOptions(service))
  const foreign = softwareAuthenticator(origin)
  foreign.create((await (await service.signUp()).post(`${api}/registration/`, {})).body)
  await check('a passkey that was never registered', await send(foreign.get(await signInOptions(service))))
  const other = await registerPasskey(service, await service.signUp())
  const theirs = other.authenticator.get(await signInOptions(service))
  await check(
    'the id of another person’s passkey',
    await send({ ...(await next()), id: theirs.id, rawId: theirs.id }),
  )
  const handle = await next()
  handle.response.userHandle = theirs.response.userHandle
  await check('the user handle of another person', await send(handle))
  const unnamed = await next()
  delete unnamed.response.userHandle
  await check('no user handle', await send(unnamed))
  await check(
    'client data that are no JSON',
    await send({ ...honest, response: { ...honest.response, clientDataJSON: 'AAAA' } }),
  )
  const late = await next()
  service.advance(300_000)
  await check('a challenge of 5 minutes ago', await send(late))
  t.equal(shapes.size, 1)

  const right = await next()
  t.equal((await send(right)).status, 200, 'the owner can still sign in')
  await check('the same answer again', await send(right))
})

t.test('of parallel uses of one challenge, one signs in', async (t) => {
  const options = await signInOptions(service)
  const answers = await Promise.all([1, 2, 3].map(() => send(authenticator.get(options))))
  t.same(answers.map(({ status }) => status).sort(), [200, 400, 400])
  const same = authenticator.get(await signInOptions(service))
  const repeated = await Promise.all([1, 2, 3].map(() => send(same)))
  t.same(repeated.map(({ status }) => status).sort(), [200, 400, 400])
})

t.test('an answer to one ceremony, person or sign-in is refused in another', async (t) => {
  const stranger = await service.signUp()
  const { authenticator: theirs } = await registerPasskey(service, stranger)
  const options = (await stranger.post(`${api}/verify/options/`)).body
  t.match(await send(theirs.get(options)), refused, 'a second factor does not sign in')
  const begun = (await service.logIn(await service.register())).post(`${api}/registration/`, {})
  t.match(
    await send(theirs.forge(options, { clientData: { challenge: (await begun).body.challenge } })),
    refused,
  )
  const asked = (await attemptLogin(service, stranger)).body
  const elsewhere = theirs.get((await stranger.post(`${api}/verify/options/`)).body)
  const shown = await call('POST', `${api}/verify/`, {
    token: asked.temporary_token,
    body: { credential: elsewhere },
  })
  t.match(shown, { status: 400, body: { code: 'passkey_invalid', verified: false, access: undefined } })
  const signIn = theirs.get(await signInOptions(service))
  t.match(await stranger.post(`${api}/verify/`, { credential: signIn }), refused)
  const ours = authenticator.get(await signInOptions(service))
  t.match(
    await stranger.post(`${api}/verify/`, { credential: ours }),
    refused,
    'a foreign passkey is no factor',
  )
})

t.test('a new passkey is refused in one shape, and its challenge works once', async (t) => {
  const person = await service.signUp()
  const begin = async () => (await person.post(`${api}/registration/`, {})).body
  const register = (credential: unknown) => person.post(`${api}/`, { credential })
  const fresh = softwareAuthenticator(origin)
  const attestation = (
    credential: { response: { attestationObject: string } },
    change: (bytes: Buffer) => Buffer,
  ) => ({
    ...credential,
    response: {
      ...credential.response,
      attestationObject: change(Buffer.from(credential.response.attestationObject, 'base64url')).toString(
        'base64url',
      ),
    },
  })
  const withBytes = (from: string, to: string) => (bytes: Buffer) => {
    const hex = bytes.toString('hex')
    if (!hex.includes(from)) throw new Error(`There is no ${from} to replace`)
    return Buffer.from(hex.replace(from, to), 'hex')
  }
  const cases: Record<string, (options: never) => unknown> = {
    'another origin': (options) => fresh.create(options, origin.replace('localhost', 'evil.localhost')),
    'another challenge': (options) =>
      fresh.create({ ...(options as object), challenge: randomBytes(32).toString('base64url') }),
    // Label 3 (alg) of the COSE key: ES256 (-7) becomes -16, which was not offered.
    'an algorithm that was not offered': (options) =>
      attestation(fresh.create(options), withBytes('010203262001', '0102032f2001')),
    'an attestation with certificates': (options) =>
      attestation(fresh.create(options), withBytes('63666d74646e6f6e65', '63666d74656170706c65')),
    'bytes that are no attestation': (options) =>
      attestation(fresh.create(options), () => Buffer.from('nothing')),
    'another id than the authenticator says': (options) => ({
      ...fresh.create(options),
      id: encoded('x'),
      rawId: encoded('x'),
    }),
  }
  for (const [name, make] of Object.entries(cases))
    t.match(await register(make((await begin()) as never)), refused, name)
  const wrongParty = fresh.create(
    { ...(await begin()), rp: { id: 'evil.localhost', name: 'x' } },
    'http://evil.localhost',
  )
  t.match(await register(wrongParty), refused, 'another relying party')
  const unverified = attestation(fresh.create(await begin()), (bytes) => {
    const flags =
      bytes.indexOf(Buffer.from('49960de5880e8c687434170f6476605b8fe4aeb9a28632c7995cf3ba831d9763', 'hex')) +
      32
    bytes.writeUInt8(bytes.readUInt8(flags) & ~0x04, flags)
    return bytes
  })
  t.match(await register(unverified), refused, 'no user verification')
  const right = fresh.create(await begin())
  t.match(
    await (await service.signUp()).post(`${api}/`, { credential: right }),
    refused,
    'another person’s session',
  )
  const answers = await Promise.all([register(right), register(right)])
  t.equal(answers.filter(({ status }) => status === 201).length, 1)
  t.match(await register(right), { status: 401 }, 'MFA is on now')
  const thief = await service.signUp()
  const copied = softwareAuthenticator(origin).create((await thief.post(`${api}/registration/`, {})).body)
  const known = { id: right.id, rawId: right.id }
  t.match(
    await thief.post(`${api}/`, { credential: { ...copied, ...known } }),
    refused,
    'a credential registered elsewhere',
  )
})

t.test('an ill-formed credential is a 400 that names the field', async (t) => {
  const honest = authenticator.get(await signInOptions(service))
  const { response } = honest
  const bodies: Record<string, [unknown, string]> = {
    'no credential': [undefined, 'credential'],
    'a text': ['x', 'credential'],
    'another type': [{ ...honest, type: 'password' }, 'credential.type'],
    'an id that is too long': [{ ...honest, id: 'A'.repeat(1_365) }, 'credential.id'],
    'no base64url': [
      { ...honest, response: { ...response, signature: 'a+b=' } },
      'credential.response.signature',
    ],
    'a long signature': [
      { ...honest, response: { ...response, signature: 'A'.repeat(1_367) } },
      'credential.response.signature',
    ],
    'long client data': [
      { ...honest, response: { ...response, clientDataJSON: 'A'.repeat(2_732) } },
      'credential.response.clientDataJSON',
    ],
    'a long user handle': [
      { ...honest, response: { ...response, userHandle: 'A'.repeat(87) } },
      'credential.response.userHandle',
    ],
  }
  for (const [name, [credential, field]] of Object.entries(bodies))
    t.match(
      await send(credential),
      { status: 400, body: { code: 'validation_error', errors: [{ field }] } },
      name,
    )
  t.equal((await send({ ...honest, padding: 'x'.repeat(17_000) })).status, 413)
  t.equal((await send(honest)).status, 200, 'an ill-formed body uses no challenge up')
})

t.test('wrong answers count as attempts at a second factor', async (t) => {
  const person = await service.signUp()
  const { authenticator: own } = await registerPasskey(service, person)
  const wrong = async () => send(own.forge(await signInOptions(service), { clientData: { type: 'x' } }))
  for (const _ of Array(5).keys()) t.match(await wrong(), refused)
  const locked = { status: 429, body: { code: 'account_locked' } }
  t.match(await attemptPasskey(service, own), locked)
  const { temporary_token: token } = (await attemptLogin(service, person)).body
  t.match(await verifyPasskey(service, own, token), { ...locked, body: { verified: false } })
  service.advance(300_000)
  t.equal((await attemptPasskey(service, own)).status, 200)
  const failures = `select count(*)::int as rows from events where type = 'identity.login_failed' and subject = '${person.id}'`
  t.same(await changeRows(service, failures), [{ rows: 5 }])
})

t.test('the owner’s passkey survived all this', async (t) => {
  t.match(await attemptPasskey(service, authenticator), { status: 200 })
  t.ok(passkey.id)
})

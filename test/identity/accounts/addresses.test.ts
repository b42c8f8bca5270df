import fc from 'fast-check'
import t from 'tap'
import { normaliseEmail } from '../../../src/identity/person.ts'
import { namesAddress } from '../../../src/messages/mail/email-address.ts'
import { cpuTime } from '../../helpers/cpu-time.ts'
import { startService, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { confirmAddress } from '../../tenancy/staff.ts'

const accepted: Record<string, string> = {
  'Ada@Example.COM': 'ada@example.com',
  '  ada@example.com\t': 'ada@example.com',
  'ada@example.com.': 'ada@example.com',
  "o'neil+tag@sub.example.co.uk": "o'neil+tag@sub.example.co.uk",
  'ada@xn--bcher-kva.example': 'ada@xn--bcher-kva.example',
  'a@b.cd': 'a@b.cd',
}
const refused = [
  '',
  'ada',
  'ada@',
  '@example.com',
  'ada@localhost',
  'ada@127.0.0.1',
  'ada@[127.0.0.1]',
  'ada@example..com',
  'ada@-example.com',
  'ada@example-.com',
  'a..b@example.com',
  '.a@example.com',
  'a.@example.com',
  'ada@example.com..',
  'ada@@example.com',
  'ada@example.com@evil.example',
  '"ada"@example.com',
  '"a@evil.example"@example.com',
  'ada(comment)@example.com',
  'Ada <ada@example.com>',
  'ada@example.com,eve@example.com',
  'ada@example.com;eve@example.com',
  'ada@example.com\r\nBcc: eve@example.com',
  'ada@example.com\nRCPT TO:<eve@example.com>',
  'ada\0@example.com',
  'ada @example.com',
  'ada@exam ple.com',
  'ada\u200b@example.com',
  'ada＠example.com',
  '\u212aate@example.com',
  'ada@e\u212aample.com',
  'ädä@example.com',
  'ada@bücher.example',
  'ada@exam\u0440le.com',
  'ﬁ@example.com',
  `${'a'.repeat(65)}@example.com`,
  `ada@${'a'.repeat(64)}.com`,
  `${'a'.repeat(64)}@${'b.'.repeat(95)}com`,
  '%0d%0a@example.com\r',
  '<ada@example.com',
  'ada@example.com>',
  'mailto:ada@example.com',
  'ada\\@example.com',
]

t.test('an address has one form', async (t) => {
  for (const [text, email] of Object.entries(accepted)) t.equal(normaliseEmail(text), email, text)
  for (const email of Object.values(accepted))
    t.equal(normaliseEmail(email), email, 'the normal form stays the same')
})

t.test('an address is found in a text only as a whole', async (t) => {
  const email = 'ada@example.com'
  for (const text of [
    email,
    `"${email}"`,
    `'${email}'`,
    `?to=${email}&x=1`,
    `Ask ${email}.`,
    JSON.stringify(`Ask\n${email}\nsoon`),
    `<${email}>`,
  ])
    t.ok(namesAddress(text, ['x@y.zz', email]), text)
  for (const text of [
    `n${email}`,
    `x.${email}`,
    `${email}.evil.example`,
    `${email}m`,
    `x-${email}`,
    'example.com',
  ])
    t.notOk(namesAddress(text, ['x@y.zz', email]), text)
  t.ok(namesAddress("Ask o'neil@example.com, please", ["o'neil@example.com"]))
})

t.test('a text that can be read in two ways is refused as an address', async (t) => {
  for (const text of refused.filter((text) => !text.endsWith('\r'))) t.equal(normaliseEmail(text), null, text)
})

t.test('none of 100,000 generated texts becomes more than one plain recipient', async (t) => {
  const nasty = fc.constantFrom(
    ...['@', '.', ',', ';', '<', '>', '"', '(', ')', ':', '\\', '\r', '\n', '\0', ' ', '\t', '%', '\u212a'],
    ...[
      '\u0130',
      '＠',
      '。',
      '\u200b',
      '\u00ad',
      'a',
      'b',
      'K',
      '1',
      '-',
      '_',
      '+',
      '[',
      ']',
      '=?utf-8?q?x?=',
    ],
  )
  const text = fc.oneof(
    fc.array(nasty, { maxLength: 30 }).map((parts) => parts.join('')),
    fc
      .tuple(fc.emailAddress(), fc.array(nasty, { maxLength: 4 }))
      .map(([email, more]) => `${email}${more.join('')}`),
    fc
      .tuple(fc.emailAddress(), nasty, fc.nat(40))
      .map(([email, c, at]) => email.slice(0, at) + c + email.slice(at)),
    fc.string({ unit: 'binary', maxLength: 60 }).map((noise) => `${noise}@example.com`),
  )
  let taken = 0
  fc.assert(
    fc.property(text, (candidate) => {
      const email = normaliseEmail(candidate)
      if (email === null) return true
      taken++
      return (
        /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9.-]+$/.test(email) &&
        email.split('@').length === 2 &&
        email.length <= 254 &&
        !/[\r\n\0\s",;<>()\\:]/.test(email) &&
        normaliseEmail(email) === email
      )
    }),
    { numRuns: 100_000, seed: 20_261_121 },
  )
  t.ok(taken > 1_000, `${taken} of them are addresses`)
})

t.test('all spellings of an address are one account', async (t) => {
  const service = await sharedService(t)
  const email = 'kate.one@example.com'
  const ada = await service.register({ email })
  for (const spelling of ['KATE.ONE@EXAMPLE.COM', ' kate.one@example.com ', 'kate.one@example.com.']) {
    const body = { email: spelling, password: 'a quiet harbour' }
    t.match(await service.call('POST', '/api/v1/auth/register/', { body }), {
      status: 400,
      body: { errors: [{ field: 'email', code: 'taken' }] },
    })
    t.equal(
      (await service.call('POST', '/api/v1/auth/login/', { body: { ...ada, email: spelling } })).status,
      200,
    )
  }
  const kelvin = { email: '\u212aate.one@example.com', password: ada.password }
  t.equal((await service.call('POST', '/api/v1/auth/register/', { body: kelvin })).status, 400)
  t.equal((await service.call('POST', '/api/v1/auth/login/', { body: kelvin })).status, 401)

  t.test('no link contains the host that a client names', async (t) => {
    const { request } = await import('node:http')
    const evil = 'evil.example'
    await new Promise((resolve, reject) => {
      const asked = request(
        `${service.url}/api/v1/auth/password/reset/`,
        {
          method: 'POST',
          headers: {
            host: evil,
            'x-forwarded-host': evil,
            forwarded: `host=${evil}`,
            'content-type': 'application/json',
          },
        },
        (answer) => {
          answer.resume()
          answer.on('end', resolve)
        },
      )
      asked.on('error', reject)
      asked.end(JSON.stringify({ email }))
    })
    const mail = await service.mailTo(email, 'Reset')
    t.match(mail.text, `${service.url}/reset-password?token=${tokenIn(mail)}`)
    t.notMatch(mail.text + mail.html, evil)
  })

  t.test('a host of spaces is answered quickly', async (t) => {
    const headers = { 'x-forwarded-host': `${' '.repeat(10_000)}x` }
    const ms = await cpuTime(async () => {
      t.equal((await service.call('GET', '/healthz', { headers })).status, 200)
    })
    t.ok(ms < 500, `${ms} ms`)
  })
})

const hidden = await startService(t, { env: { REGISTRATION_HIDE_EXISTING: 'true' } })

t.test(
  'if existing accounts are hidden, a used address gets the answer of a new one, and its owner a mail',
  async (t) => {
    const service = hidden
    const ada = await service.register()
    await confirmAddress(service, ada)
    const register = async (email: string) => {
      const begun = performance.now()
      const answer = await service.call('POST', '/api/v1/auth/register/', {
        body: { email, password: 'another harbour', first_name: 'Eve' },
      })
      return { ...answer, ms: performance.now() - begun }
    }
    const used = await register(ada.email.toUpperCase())
    const fresh = await register('quite.new@example.com')
    for (const answer of [used, fresh])
      t.same([answer.status, Object.keys(answer.body)], [201, ['id', 'email']])
    t.equal(used.body.email, ada.email)
    t.not(used.body.id, ada.id)
    t.match(used.body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
    const names = ({ headers }: typeof used) => [...headers.keys()].sort()
    t.same(names(used), names(fresh))
    await service.mailTo(ada.email, 'already have an account')
    t.equal(
      (await service.call('POST', '/api/v1/auth/login/', { body: ada })).status,
      200,
      'nothing was changed',
    )
    const [eva, bob] = [await service.register(), await service.register()]
    for (const person of [eva, bob]) await confirmAddress(service, person)
    const eve = await service.logIn(eva)
    const move = (path: string, email: string) => eve.put(path, { email, first_name: 'Eva' })
    const asked = [
      await move('/api/v1/users/me/', bob.email.toUpperCase()),
      await move(`/api/v1/users/${eve.id}/`, bob.email),
      await move('/api/v1/users/me/', 'free.one@example.com'),
    ]
    for (const [n, answer] of asked.entries())
      t.match(answer, { status: 200, body: { email: n < 2 ? bob.email : 'free.one@example.com' } })
    t.equal(asked[0]!.body.email_verified, asked[2]!.body.email_verified)
    t.equal(asked[0]!.body.first_name, 'Eva')
    await service.mailTo(bob.email, 'already have an account')
    t.equal(
      (await service.call('POST', '/api/v1/auth/login/', { body: bob })).status,
      200,
      'the account is unchanged',
    )
  },
)

t.test(
  'if existing accounts are hidden, a new one opens when its address is proven, so that its password tells nothing',
  async (t) => {
    const service = hidden
    const [owner, ada] = [await service.register(), await service.register()]
    await confirmAddress(service, owner)
    const logIn = async ({ email, password }: { email: string; password: string }) => {
      const { status, body } = await service.call('POST', '/api/v1/auth/login/', {
        body: { email, password },
      })
      return { status, body: { ...body, instance: null } }
    }
    const free = await logIn(ada)
    t.match(free, { status: 401, body: { code: 'invalid_credentials' } })
    t.same(
      free,
      await logIn({ ...owner, password: 'another harbour' }),
      'as after a sign-up with a used address',
    )
    await confirmAddress(service, ada)
    const client = await service.logIn(ada)
    t.equal((await client.patch('/api/v1/users/me/', { email: 'ada.moved@example.com' })).status, 200)
    t.ok(await service.logIn({ ...ada, email: 'ada.moved@example.com' }), 'who has signed in stays')
  },
)

import t from 'tap'
import { jsonFault } from '../../src/text/json-fault.ts'
import { claimsOf, type Json, loginOf } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const ada = await service.signUp()
const tenants = '/api/v1/tenants/'

t.test('a body that is not JSON is refused with its line and column', async (t) => {
  const cases: [body: string, line: number, column: number][] = [
    ['{"name": "a",}', 1, 14],
    ['{\n  "name": "a"\n  "slug": "b"\n}', 3, 3],
    ['{"name": "half', 1, 15],
    ['{"name": "a\nb"}', 1, 12],
    ['{"name": "a\\q"}', 1, 12],
    ["{'name': 1}", 1, 2],
    ['{name: 1}', 1, 2],
    ['{"name" "a"}', 1, 9],
    ['{"name": 01}', 1, 11],
    ['{"name": +1}', 1, 10],
    ['{"name": 1.}', 1, 11],
    ['{"name": nul}', 1, 10],
    ['{"name": [1, 2}', 1, 15],
    ['{"name": [1,,2]}', 1, 13],
    ['{"name": {]}', 1, 11],
    ['{"name": "a"} x', 1, 15],
    ['  ]', 1, 3],
    ['{', 1, 2],
    ['\n\n"a"', 3, 1],
    ['{"name": "a\\u0000"}', 1, 12],
    [`{"name": 1,\n "x": ${'['.repeat(32)}${']'.repeat(32)}}`, 2, 38],
  ]
  for (const [body, line, column] of cases) {
    const refused = await ada.post(tenants, body)
    t.match(refused, { status: 400, body: { code: 'parse_error', line, column } }, body)
    t.match(refused.body.detail, `See line ${line}, column ${column}.`)
  }
  const bytes = Buffer.concat([
    Buffer.from('{"name": "\ufffdü'),
    Buffer.from([0xc3, 0x28]),
    Buffer.from('"}'),
  ])
  const sent = await fetch(service.url + tenants, {
    method: 'POST',
    headers: { authorization: `Bearer ${ada.access}`, 'content-type': 'application/json' },
    body: bytes,
  })
  t.match(await sent.json(), { code: 'parse_error', line: 1, column: 13 })
})

t.test('what JSON.parse reads has no fault, and what it does not read has one', async (t) => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"',
    '\\',
    '1',
    '-',
    '.5',
    'e3',
    'true',
    'null',
    ' ',
    '\n',
    '\u0001',
  ]
  let seed = 7
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  const isJson = (text: string) => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }
  const known = [
    '{"a":[1,-0.5e+3,true,null,"\\u00e9\\n"],"b":{}}',
    '[]',
    ' "x" ',
    '-0',
    '[[[]]]',
    '1E5',
    '""',
  ]
  const random = Array.from({ length: 20_000 }, () =>
    Array.from({ length: 1 + next(6) }, () => pieces[next(pieces.length)]).join(''),
  )
  for (const text of [...known, ...random])
    if (isJson(text) !== (jsonFault(text) === null)) t.fail(JSON.stringify(text))
  t.ok(known.every(isJson) && random.filter(isJson).length > 100)
})

t.test('a missing field says that it is missing', async (t) => {
  t.match(await ada.post(tenants, {}), {
    status: 400,
    body: {
      errors: [{ field: 'name', code: 'required', detail: 'name is missing. Give the name as text.' }],
    },
  })
  t.match(await ada.post(tenants, { name: null }), {
    status: 400,
    body: { errors: [{ field: 'name', code: 'invalid_type', detail: 'Give the name as text.' }] },
  })
  const policy = { draft: { name: 'x', actions: ['a:b'] } }
  t.match(await ada.post('/api/v1/policies/test-draft/', policy), {
    status: 400,
    body: {
      errors: [
        { field: 'draft.effect', code: 'required', detail: /^draft\.effect is missing\. The effect is/ },
      ],
    },
  })
  t.match(await ada.post(`${tenants}${ada.tenantId}/members/`, {}), {
    status: 400,
    body: { errors: [{ field: 'user_id', code: 'required', detail: /^user_id is missing\. / }] },
  })
  t.match(await service.call('POST', '/api/v1/auth/otp/verify/', { token: ada.access, body: {} }), {
    status: 400,
    body: { verified: false, errors: [{ field: 'code', code: 'required' }] },
  })
  t.match(
    await ada.post('/access/v1/evaluation', { action: { name: 'a:b' }, resource: { type: 'a', id: '1' } }),
    {
      status: 400,
      body: { errors: [{ field: 'subject', code: 'required' }] },
    },
  )
})

t.test('an expired token says that it has expired', async (t) => {
  const bob = await service.signUp()
  await bob.patch(`${tenants}${bob.tenantId}/`, { settings: { require_mfa: true } })
  const { body: waiting } = await service.call('POST', '/api/v1/auth/login/', { body: loginOf(bob) })
  const expires = claimsOf(bob.access).exp * 1000 - service.now()
  service.advance(expires + 6_000)
  const expired = await bob.get('/api/v1/users/me/')
  t.match(expired, {
    status: 401,
    body: {
      code: 'token_not_valid',
      reason: 'expired',
      detail: 'The access token has expired. Refresh it, or sign in again.',
    },
  })
  t.match(
    expired.headers.get('www-authenticate'),
    /^Bearer error="invalid_token", error_description="The token expired", resource_metadata="/,
  )
  const temporary = { token: waiting.temporary_token, body: { code: '123456' } }
  t.match(await service.call('POST', '/api/v1/auth/otp/verify/', temporary), {
    status: 401,
    body: { code: 'token_not_valid', reason: 'expired' },
  })
  const signature = bob.access.slice(0, -8)
  const forged = await service.call('GET', '/api/v1/users/me/', { token: `${signature}AAAAAAAA` })
  t.match(forged, { status: 401, body: { code: 'token_not_valid' } })
  t.notOk('reason' in forged.body, 'a forged one is not said to have been valid')
  service.advance(8 * 86_400_000)
  t.match(await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: bob.refresh } }), {
    status: 401,
    body: {
      code: 'token_not_valid',
      reason: 'expired',
      detail: 'The refresh token has expired. Sign in again.',
    },
  })
})

t.test(
  'an address that the API does not have is told apart from an object, and names the nearest',
  async (t) => {
    const id = '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b'
    const nearest: [string, string | null][] = [
      ['/api/v1/tenant/', '/api/v1/tenants/'],
      ['/api/v1/user/me/', '/api/v1/users/me/'],
      ['/api/users/', '/api/v1/users/'],
      ['/api/v1/login', '/api/v1/auth/login/'],
      ['/api/v1/members/', '/api/v1/tenants/{id}/members/'],
      [`/api/v1/tenants/${id}/membres/`, '/api/v1/tenants/{id}/members/'],
      ['/api/v1/users/me/x', '/api/v1/users/me/'],
      ['/API/V1/Polices/', '/api/v1/policies/'],
      ['/api/v1/nothing/of/it', null],
      [`/api/v1/${'x'.repeat(5_000)}`, null],
      [`/api/v1/${'a/'.repeat(2_000)}`, null],
    ]
    for (const [path, meant] of nearest) {
      const { status, body } = await service.call('GET', path)
      t.same([status, body.code, body.meant ?? null], [404, 'not_found', meant], path.slice(0, 60))
      t.match(body.detail, /^This API has no address \/api\//i)
      t.ok(body.detail.length < 400)
      if (meant) t.match(body.detail, `The nearest is ${meant}.`)
    }
    t.equal((await service.call('GET', '/nowhere')).body.detail, 'Not found, or not visible to you.')
    const later = await service.signUp()
    t.equal((await later.get(`${tenants}${id}/`)).body.detail, 'Not found, or not visible to you.')
  },
)

t.test('an If-Match that is no tag is 400, because it would never match', async (t) => {
  const eve = await service.signUp()
  const change = (tag: string, path = '/api/v1/users/me/') =>
    service.call('PATCH', path, {
      token: eve.access,
      body: { first_name: 'Eve' },
      headers: { 'if-match': tag },
    })
  for (const tag of ['abc', '5', '"5', '5"', "'5'", '"5" "6"'])
    t.match(await change(tag), { status: 400, body: { errors: [{ field: 'If-Match' }] } }, tag)
  for (const tag of ['"abc"', 'W/"1"', '"999"']) t.equal((await change(tag)).status, 412, tag)
})

t.test('the description names 409 for every trial of a policy, which can have no compiler', async (t) => {
  const { body: document } = await service.call('GET', '/openapi.json')
  for (const path of ['test-draft/', 'preview-draft/', '{id}/test/', '{id}/preview/'])
    t.ok((document.paths as Json)[`/api/v1/policies/${path}`].post.responses[409], path)
})

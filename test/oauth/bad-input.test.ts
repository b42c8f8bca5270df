import t, { type Test } from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { callback, openApplication, openBrowser, request, tokensFor } from './relying-party.ts'

const service = await sharedService(t, { workers: false })
const owner = await service.signUp()
const shop = await openApplication(service, owner, { first_party: true })
const { browser, tokens } = await tokensFor(service, shop, owner)
const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

const odd = [
  '',
  ' ',
  '\0',
  'ü',
  '%',
  '[]',
  '{"a":1}',
  '__proto__',
  'x'.repeat(3_000),
  '-1',
  'a b c',
  '../..',
  '\r\nX: y',
]

/** Asks, and gives the status. An answer is never a fault of ours, and leads to registered addresses only. */
async function ask(t: Test, path: string, init: RequestInit, about: string): Promise<void> {
  const answer = await fetch(`${service.url}${path}`, { redirect: 'manual', ...init })
  await answer.text()
  t.ok(answer.status < 500, `${about}: ${answer.status}`)
  const to = answer.headers.get('location')
  if (to) t.ok(to.startsWith(callback) || /^\/(sign-in|oauth)\//.test(to), `${about}: ${to}`)
}

t.test('no parameter of an authorization request, doubled, missing or odd, is a fault of ours', async (t) => {
  const { path } = await request(shop)
  const { searchParams } = new URL(path, service.url)
  const names = [
    ...searchParams.keys(),
    'prompt',
    'max_age',
    'acr_values',
    'id_token_hint',
    'request',
    'request_uri',
  ]
  names.push(
    'claims',
    'ui_locales',
    'login_hint',
    'response_mode',
    'resource',
    'registration',
    'authorization_details',
  )
  for (const name of names)
    for (const headers of [{}, { Cookie: cookie }]) {
      const without = new URLSearchParams(searchParams)
      without.delete(name)
      await ask(t, `/oauth/authorize?${without}`, { headers }, `without ${name}`)
      await ask(t, `/oauth/authorize?${searchParams}&${name}=other`, { headers }, `${name} twice`)
      for (const value of odd) {
        const query = new URLSearchParams(searchParams)
        query.set(name, value)
        await ask(t, `/oauth/authorize?${query}`, { headers }, `${name}=${value.slice(0, 20)}`)
      }
    }
  for (const uid of ['x', '..', 'a'.repeat(64), '%00', 'x/y'])
    await ask(
      t,
      `/oauth/authorize/${uid}`,
      { headers: { Cookie: `${cookie}; bailiwick-resume=${uid}` } },
      uid,
    )
})

t.test('no parameter of the other endpoints is', async (t) => {
  const basic = `Basic ${Buffer.from(`${shop.client.id}:${shop.secret}`).toString('base64')}`
  const grants: Record<string, string>[] = [
    { grant_type: 'authorization_code', code: 'x', redirect_uri: callback, code_verifier: 'x'.repeat(43) },
    { grant_type: 'refresh_token', refresh_token: tokens.refresh_token!, scope: 'openid' },
    { grant_type: 'client_credentials' },
    { grant_type: 'password', username: 'a', password: 'b' },
  ]
  const post = (
    body: URLSearchParams | string,
    headers: Record<string, string>,
    about: string,
    path = '/oauth/token',
  ) => ask(t, path, { method: 'POST', body, headers }, about)
  for (const grant of grants)
    for (const name of [
      ...Object.keys(grant),
      'client_id',
      'client_secret',
      'client_assertion',
      'resource',
    ]) {
      for (const value of odd) {
        const body = new URLSearchParams({ ...grant, [name]: value })
        if (name !== 'refresh_token' || value !== '') await post(body, {}, `${name}=${value.slice(0, 20)}`)
      }
      await post(
        `${new URLSearchParams(grant)}&${name}=x`,
        { Authorization: basic, 'Content-Type': 'application/x-www-form-urlencoded' },
        `${name} twice`,
      )
    }
  for (const value of [
    ...odd,
    'Basic',
    'Basic x',
    'Basic ====',
    'Bearer x',
    `Basic ${btoa('a')}`,
    `Basic ${btoa(':')}`,
  ])
    if (/^[\x20-\x7e]*$/.test(value)) {
      await post(
        new URLSearchParams(grants[1]),
        { Authorization: value },
        `Authorization: ${value.slice(0, 20)}`,
      )
      await ask(t, '/oauth/userinfo', { headers: { Authorization: value } }, `userinfo ${value.slice(0, 20)}`)
    }
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x'])
    await post('{"grant_type":"refresh_token"}', { Authorization: basic, 'Content-Type': type }, type)
  const { path: asked } = await request(shop)
  const pushed = Object.fromEntries(new URL(asked, service.url).searchParams)
  for (const name of [
    ...Object.keys(pushed),
    'request',
    'request_uri',
    'client_assertion_type',
    'client_assertion',
  ]) {
    for (const value of odd)
      await post(
        new URLSearchParams({ ...pushed, [name]: value }),
        { Authorization: basic },
        name,
        '/oauth/par',
      )
    const twice = new URLSearchParams([...Object.entries(pushed), [name, 'x'], [name, 'y']])
    await post(twice, { Authorization: basic }, `${name} twice`, '/oauth/par')
    const uri = `urn:ietf:params:oauth:request_uri:${name}`
    await ask(
      t,
      `/oauth/authorize?${new URLSearchParams({ client_id: shop.client.id, request_uri: uri })}`,
      {},
      uri,
    )
  }
  await post('a=b&'.repeat(30_000), { 'Content-Type': 'application/x-www-form-urlencoded' }, 'a long body')
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'])
    for (const path of [
      '/oauth/token',
      '/oauth/par',
      '/oauth/authorize',
      '/oauth/userinfo',
      '/oauth/logout',
      '/oauth/other',
    ])
      await ask(t, path, { method }, `${method} ${path}`)
  for (const name of ['id_token_hint', 'post_logout_redirect_uri', 'client_id', 'state', 'after'])
    for (const value of [...odd, tokens.id_token!, shop.client.id, 'https://evil.example/'])
      await ask(
        t,
        `/oauth/logout?${new URLSearchParams({ [name]: value })}`,
        {},
        `logout ${name}=${value.slice(0, 20)}`,
      )
  const consent = openBrowser(service)
  for (const to of ['/oauth/authorize/x', '/oauth/authorize/', '/docs'])
    t.ok((await consent.visit(`/sign-in/consent/?return_to=${to}`)).status < 500)
})

t.test('a NUL character is refused where a request is stored', async (t) => {
  const tv = await openApplication(service, owner, { kind: 'device', redirect_uris: [] })
  const post = async (path: string, fields: Record<string, string>, headers = {}) => {
    const answer = await fetch(service.url + path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers,
    })
    return { status: answer.status, body: await answer.json() }
  }
  const basic = { Authorization: `Basic ${btoa(`${shop.client.id}:${shop.secret}`)}` }
  const pushed = Object.fromEntries(new URL((await request(shop)).path, service.url).searchParams)
  const refused = { status: 400, body: { error: 'invalid_request' } }
  t.match(await post('/oauth/par', { ...pushed, login_hint: 'a\0b' }, basic), refused)
  const fields = { client_id: tv.client.id, scope: 'openid', nonce: '\0' }
  t.match(await post('/oauth/device_authorization', fields), refused)
})

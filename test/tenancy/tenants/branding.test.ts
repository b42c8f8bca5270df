import { createHash } from 'node:crypto'
import t from 'tap'
import { contrastOf } from '../../../src/text/contrast.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { openApplication, request } from '../../oauth/relying-party.ts'
import { linkIn, openPages } from '../../pages/sign-in/page-client.ts'
import { eventsOf, expect, type Firm, foundFirm, look } from '../staff.ts'
import { pngOf, webpOf } from './sample-images.ts'

const service = await sharedService(t)
const branding = (firm: Firm, change: object) =>
  expect(200, firm.owner.patch(`${firm.path}/`, { settings: { branding: change } }))

/** Sends an image as the logo of a firm. */
async function upload(
  { path, owner }: Pick<Firm, 'path' | 'owner'>,
  image: Buffer | string,
  { type = 'image/png', headers = {} }: { type?: string; headers?: Record<string, string> } = {},
) {
  const answer = await fetch(`${service.url}${path}/branding/logo/`, {
    method: 'PUT',
    body: image,
    headers: { Authorization: `Bearer ${owner.access}`, 'Content-Type': type, ...headers },
  })
  return {
    status: answer.status,
    body: (await answer.json()) as { [name: string]: unknown } & Record<
      'settings',
      { branding: { logo: string } }
    >,
  }
}

const load = (url: string) => fetch(url, { redirect: 'manual', headers: { Cookie: 'a=b' } })

t.test('branding is changed member by member, and null takes one away', async (t) => {
  const firm = await foundFirm(service)
  t.same((await expect(200, firm.owner.get(`${firm.path}/`))).settings.branding, { logo: null })
  const all = {
    name: '  Nord &\n <Wind>  ',
    accent: '#1D4ED8',
    terms_url: 'https://nord.example/terms',
    privacy_url: 'https://nord.example/privacy',
    support_email: 'Help@Nord.example',
  }
  const { settings } = await branding(firm, all)
  const kept = {
    ...all,
    name: 'Nord & <Wind>',
    accent: '#1d4ed8',
    support_email: 'help@nord.example',
    logo: null,
  }
  t.same(settings.branding, kept)
  const { terms_url, ...others } = kept
  t.same((await branding(firm, { ...settings.branding, terms_url: null })).settings.branding, others)
  const before = (await eventsOf(service, firm.id, 'tenant.tenant_updated')).length
  await branding(firm, { accent: '#1d4ed8' })
  t.equal((await eventsOf(service, firm.id, 'tenant.tenant_updated')).length, before, 'the same is no change')
})

t.test('a wrong member of branding is refused by its name', async (t) => {
  const { owner, path } = await foundFirm(service)
  const cases: [object, string, RegExp][] = [
    [
      { accent: '#ffd400' },
      'accent',
      /contrast of 1\.4 to 1, and needs 4\.5 to 1\. Choose a darker one, such as #[0-9a-f]{6}\./,
    ],
    [{ accent: '#777777' }, 'accent', /4\.5 to 1, and needs/],
    [{ accent: 'red' }, 'accent', /#rrggbb/],
    [{ accent: '#fff;}body{x:y' }, 'accent', /#rrggbb/],
    [{ accent: 5 }, 'accent', /as text/],
    [{ name: '' }, 'name', /1 to 64/],
    [{ name: 'x'.repeat(65) }, 'name', /1 to 64/],
    [{ terms_url: 'http://nord.example/' }, 'terms_url', /https/],
    [{ privacy_url: 'javascript:alert(1)' }, 'privacy_url', /https/],
    [{ privacy_url: 'https://bank.example@evil.example/' }, 'privacy_url', /user name/],
    [{ support_email: 'nobody' }, 'support_email', /e-mail/],
    [{ acent: '#1d4ed8' }, 'acent', /Did you mean accent/],
  ]
  for (const [change, member, detail] of cases) {
    const { status, body } = await owner.patch(`${path}/`, { settings: { branding: change } })
    t.match(
      { status, body },
      { status: 400, body: { errors: [{ field: `settings.branding.${member}`, detail }] } },
    )
    t.equal(body.errors.length, 1, JSON.stringify(change))
  }
  await expect(200, owner.patch(`${path}/`, { settings: { branding: { accent: '#767676' } } }))
})

t.test('an accent has a darker neighbour that is refused into, and a lighter one for the dark', async (t) => {
  for (const accent of ['000000', '0b1f4d', '1d4ed8', '767676', 'b00020', '7a1f5c', '006561']) {
    const answer = await load(`${service.url}/sign-in/look/accent/${accent}.css`)
    t.equal(answer.status, 200)
    t.match(answer.headers.get('cache-control'), /immutable/)
    t.equal(answer.headers.get('set-cookie'), null)
    const [, dark = ''] = /--brand-dark:(#\w{6})/.exec(await answer.text()) ?? []
    for (const ground of ['#12181b', '#06171a'])
      t.ok(contrastOf(dark, ground) >= 4.5, `${accent}: ${dark} on ${ground}`)
  }
  for (const wrong of ['red.css', '12345.css', 'ABCDEF.css', '1d4ed8', '1d4ed8;}.css'])
    t.equal((await load(`${service.url}/sign-in/look/accent/${wrong}`)).status, 404, wrong)
})

t.test('a logo is public at an address with its digest, and does nothing there', async (t) => {
  const firm = await foundFirm(service)
  const image = pngOf(240, 60)
  const { status, body } = await upload(firm, image)
  t.equal(status, 200)
  const { logo } = body.settings.branding
  const digest = createHash('sha256').update(image).digest('hex').slice(0, 32)
  t.equal(logo, `${service.url}/sign-in/look/logo/${firm.id}/${digest}.png`)
  const answer = await load(logo)
  t.equal(answer.status, 200)
  t.same(Buffer.from(await answer.arrayBuffer()), image)
  const shown = Object.fromEntries(answer.headers)
  t.match(shown, {
    'content-type': 'image/png',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'cross-origin',
  })
  t.equal(shown['set-cookie'], undefined)

  const next = (await upload(firm, webpOf('VP8L'), { type: 'image/webp' })).body.settings.branding.logo
  t.match(next, /\.webp$/)
  const old = await load(logo)
  t.match(
    { status: old.status, to: new URL(old.headers.get('location') ?? '', logo).href },
    { status: 302, to: next },
  )
  t.match(old.headers.get('cache-control'), /max-age=300/)
  t.equal((await load(next)).headers.get('content-type'), 'image/webp')

  await expect(204, firm.owner.delete(`${firm.path}/branding/logo/`))
  await expect(204, firm.owner.delete(`${firm.path}/branding/logo/`))
  t.same((await expect(200, firm.owner.get(`${firm.path}/`))).settings.branding, { logo: null })
  const updated = 'tenant.tenant_updated'
  t.same(await eventsOf(service, firm.id, updated), [updated, updated, updated])
  for (const gone of [next, `${service.url}/sign-in/look/logo/nowhere/${digest}.png`]) {
    const none = await load(gone)
    t.match({ status: none.status, cookie: none.headers.get('set-cookie') }, { status: 404, cookie: null })
  }
})

t.test('a logo is a whole, still PNG or WebP of the stated type, of 64 KiB at most', async (t) => {
  const firm = await foundFirm(service)
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
  const png = pngOf(64, 64)
  const whole = /whole, still image/
  const refused: [string, Buffer | string, string, number, RegExp][] = [
    ['an SVG', svg, 'image/svg+xml', 415, /image\/png or image\/webp/],
    ['an SVG that says PNG', svg, 'image/png', 400, whole],
    ['HTML', '<!doctype html>', 'text/html', 415, /image\/png/],
    ['JSON', '{}', 'application/json', 415, /image\/png/],
    ['a GIF', Buffer.from('GIF89a0000000000000000000000000'), 'image/gif', 415, /image\/png/],
    ['a GIF that says WebP', Buffer.from('GIF89a0000000000000000000000000'), 'image/webp', 400, whole],
    ['a PNG that says WebP', png, 'image/webp', 400, whole],
    ['half a PNG', png.subarray(0, 60), 'image/png', 400, whole],
    ['a PNG with a page behind it', Buffer.concat([png, Buffer.from(svg)]), 'image/png', 400, whole],
    ['an animated PNG', pngOf(8, 8, { more: [['acTL', Buffer.alloc(8)]] }), 'image/png', 400, whole],
    ['an animated WebP', webpOf('VP8X', { animated: true }), 'image/webp', 400, whole],
    ['a WebP with more behind it', Buffer.concat([webpOf('VP8 '), png]), 'image/webp', 400, whole],
    ['a wide image', pngOf(1025, 1), 'image/png', 400, /1025 × 1 pixels.*1024 × 1024/],
    ['an image without pixels', pngOf(0, 5), 'image/png', 400, /0 × 5/],
    ['nothing', '', 'image/png', 400, /logo is missing/],
    ['one byte too many', pngOf(64, 64, { bytes: 65_537 }), 'image/png', 413, /65536 bytes/],
  ]
  for (const [name, image, type, status, detail] of refused) {
    const answer = await upload(firm, image, { type })
    t.match(answer, { status, body: { detail } }, name)
    if (status === 400) t.match(answer.body, { errors: [{ field: 'logo' }] }, name)
  }
  t.same(await eventsOf(service, firm.id, 'tenant.tenant_updated'), [], 'nothing was changed')
  t.equal((await upload(firm, pngOf(64, 64, { bytes: 65_536 }))).status, 200)
  for (const kind of ['VP8 ', 'VP8L', 'VP8X'] as const)
    t.equal((await upload(firm, webpOf(kind), { type: 'image/webp' })).status, 200, kind)
  const [{ logo }] = await look(service, `select settings -> 'logo' as logo from tenants where id = $1`, [
    firm.id,
  ])
  t.match(logo, { width: 120, height: 40 })
})

t.test('a logo is changed by those who may change the tenant, on the version that they read', async (t) => {
  const firm = await foundFirm(service)
  const member = await firm.hire('member')
  const stranger = await foundFirm(service)
  const image = pngOf(8, 8)
  t.equal((await upload({ ...firm, owner: member }, image)).status, 403)
  t.equal((await upload({ ...firm, owner: stranger.owner }, image)).status, 404)
  await expect(403, member.delete(`${firm.path}/branding/logo/`))
  await expect(404, stranger.owner.delete(`${firm.path}/branding/logo/`))
  const { headers } = await firm.owner.get(`${firm.path}/`)
  await branding(firm, { name: 'Other' })
  t.equal((await upload(firm, image, { headers: { 'If-Match': headers.get('etag')! } })).status, 412)
  await firm.hire('admin')
  const approval = { approver: { roles: ['admin'] } }
  const rule = { name: 'Four eyes', effect: 'require_approval', actions: ['tenant:update'], approval }
  await expect(201, firm.owner.post('/api/v1/policies/', rule))
  const asked = await upload(firm, pngOf(64, 64, { bytes: 60_000 }))
  t.match(asked, { status: 403, body: { code: 'approval_required' } })
})

t.test('the logo of a deleted tenant is not shown', async (t) => {
  const firm = await foundFirm(service)
  const { logo } = (await upload(firm, pngOf(8, 8))).body.settings.branding
  await expect(204, firm.owner.delete(`${firm.path}/`))
  t.equal((await load(logo)).status, 404)
})

const nord = {
  name: '<b>Nord & "Wind"</b>',
  accent: '#7a1f5c',
  terms_url: 'https://nord.example/terms?a=1&b=2',
  support_email: 'help?bcc=x@nord.example',
}
const escaped = '&lt;b&gt;Nord &amp; &quot;Wind&quot;&lt;/b&gt;'

t.test(
  'mails and pages of an invitation have the brand of the tenant, and so has the sign-in after it',
  async (t) => {
    const firm = await foundFirm(service)
    await branding(firm, nord)
    const { logo } = (await upload(firm, pngOf(400, 100))).body.settings.branding
    const guest = await service.register()
    await expect(201, firm.owner.post(`${firm.path}/invitations/`, { email: guest.email }))
    const mail = await service.mailTo(guest.email, 'invited')
    const path = new URL(logo).pathname
    t.match(mail.html, `${path}" alt="${escaped}" width="160" height="40"`)
    t.match(mail.html, 'background:#7a1f5c')
    t.match(mail.html, 'href="https://nord.example/terms?a=1&amp;b=2"')
    t.match(mail.html, 'href="mailto:help%3Fbcc%3Dx@nord.example"')
    t.notMatch(mail.html, '<b>Nord')
    t.ok(Buffer.byteLength(mail.html) <= 30_000)

    const pages = openPages(service)
    for (const open of [
      () => pages.visit(linkIn(mail, '/accept-invitation')),
      () => pages.visit('/sign-in/'),
    ]) {
      const { text, headers } = await open()
      t.match(text, `<img class="logo" src="${path}" alt="${escaped}" width="192" height="48">`)
      t.match(text, '/sign-in/look/accent/7a1f5c.css"')
      t.match(text, `– ${escaped}</title>`)
      t.match(
        text,
        'href="https://nord.example/terms?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">Terms<',
      )
      t.match(text, 'href="mailto:help%3Fbcc%3Dx@nord.example"')
      t.notMatch(text, /Privacy|<b>Nord|style=|<style/)
      t.notMatch(headers.get('content-security-policy'), 'unsafe')
      t.ok(Buffer.byteLength(text) <= 30_000)
    }
  },
)

t.test('the link to leave a tenant leads to a page in its name', async (t) => {
  const firm = await foundFirm(service)
  await branding(firm, { name: 'Kontor' })
  const member = await firm.hire('member')
  const mail = await service.mailTo(member.email, 'added')
  t.match(mail.html, '>Kontor</td>')
  const { title, text } = await openPages(service).visit(linkIn(mail, '/leave-tenant'))
  t.equal(title, 'Leave the organisation')
  t.match(text, '</span> Kontor</p>')
})

t.test('the pages of a person who is signed in have the brand of their organisation', async (t) => {
  const firm = await foundFirm(service)
  await branding(firm, { name: 'Kontor' })
  const [{ slug }] = await look(service, 'select slug from tenants where id = $1', [firm.id])
  const pages = openPages(service)
  const initial = '<p class="brand"><span class="mark" aria-hidden="true">K</span> Kontor</p>'
  t.match((await pages.visit(`/sign-in/?organization=${slug}`)).text, initial)
  t.match((await pages.send({ email: firm.owner.email })).text, initial, 'as on the page before')
  await pages.send({ password: firm.owner.password })
  t.equal(pages.seen().title, 'You are signed in')
  t.notMatch(pages.seen().text, 'Kontor</p>', 'it began in the own tenant, which has no brand')
  await pages.visit('/sign-in/organisation/')
  await pages.send({ tenant_id: firm.id })
  t.match(pages.seen().text, initial)
  t.match((await pages.visit('/sign-in/step-up/')).text, initial)
  await pages.visit('/sign-in/')
  await pages.send({}, 'sign-out')
  t.notMatch(pages.seen().text, 'Kontor')
  for (const organization of ['no-such-place', 'x'.repeat(300), firm.id.replace(/[\da-f]/g, '0'), "'%00"]) {
    const { status, text } = await openPages(service).visit(`/sign-in/?organization=${organization}`)
    t.equal(status, 200)
    t.match(text, '<svg class="mark"', 'the service itself')
  }
  const ofMail = encodeURIComponent(`/approvals/1?organisation=${firm.id}`)
  for (const path of [`/sign-in/?organization=${firm.id}`, `/console/enter/?to=${ofMail}`])
    t.match((await openPages(service).visit(path)).text, initial)
})

t.test(
  'an application that asks a person to sign in has its own look, over that of its tenant',
  async (t) => {
    const firm = await foundFirm(service)
    await branding(firm, { name: 'Kontor', accent: '#7a1f5c', terms_url: 'https://kontor.example/terms' })
    const own = { name: 'Shop', accent: '#1D4ED8', privacy_url: 'https://shop.example/privacy' }
    const { config, client } = await openApplication(service, firm.owner, { branding: own })
    t.match(client.branding, { ...own, accent: '#1d4ed8' })
    const at = `/api/v1/oauth-clients/${client.id}/`
    const { path } = await request({ config })
    const initial = (name: string) => `<span class="mark" aria-hidden="true">${name[0]}</span> ${name}</p>`
    const pages = openPages(service)
    await pages.visit(path)
    const hasLook = (name: string) => {
      const { text } = pages.seen()
      for (const part of [initial('Shop'), '1d4ed8', 'https://shop.example/privacy'])
        t.match(text, part, name)
    }
    t.match(pages.seen().title, 'Sign in')
    hasLook('address')
    await pages.send({ email: firm.owner.email })
    hasLook('password')
    await pages.send({ password: 'not this one' })
    hasLook('a refused password')
    await pages.send({ password: firm.owner.password })
    for (let step = 0; step < 5 && pages.seen().refresh; step++) await pages.visit(pages.seen().refresh!)
    t.match(pages.seen().title, 'Continue to Shop')
    hasLook('consent')
    t.match(pages.seen().text, 'https://kontor.example/terms', 'what it does not say is the tenant’s')
    t.match((await pages.visit('/sign-in/organisation/')).text, initial('Kontor'), 'outside of the request')

    const refused = async (branding: object, field: string) =>
      t.match(await firm.owner.patch(at, { branding }), { status: 400, body: { errors: [{ field }] } })
    await refused({ accent: '#ffff00' }, 'branding.accent')
    await refused({ privacy_url: 'http://shop.example/' }, 'branding.privacy_url')
    await refused({ logo: 'https://shop.example/logo.png' }, 'branding.logo')
    await expect(200, firm.owner.patch(at, { branding: { accent: '#1d4ed8' } }))
    t.same(
      (await expect(200, firm.owner.get(at))).branding,
      { accent: '#1d4ed8' },
      'it is replaced as a whole',
    )
    await pages.visit(path)
    t.match(pages.seen().text, initial('Kontor'))
    t.match(pages.seen().text, '1d4ed8')
    t.equal((await expect(200, firm.owner.patch(at, { branding: null }))).branding, null)
    await pages.visit(path)
    t.match(pages.seen().text, '7a1f5c')
    const machine = { name: 'Job', kind: 'machine', scopes: ['member:list'], branding: own }
    t.match(await firm.owner.post('/api/v1/oauth-clients/', machine), {
      status: 400,
      body: { errors: [{}, { field: 'branding' }] },
    })
  },
)

t.test('mails about an account are in the name of the service', async (t) => {
  const firm = await foundFirm(service)
  await branding(firm, nord)
  await expect(
    204,
    firm.owner.delete(
      `/api/v1/tenants/${(await look(service, `select tenant_id from memberships where user_id = $1 and tenant_id <> $2`, [firm.owner.id, firm.id]))[0].tenant_id}/`,
    ),
  )
  await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: firm.owner.email } })
  const { html } = await service.mailTo(firm.owner.email, 'Reset')
  t.notMatch(html, 'Nord')
  t.match(html, '>Bailiwick</td>')
})

import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { approve, ask, openOffice } from '../authorization/approvals/office.ts'
import { heading, openChromium, signIn } from '../console/real-browser.ts'
import { chromiumPath } from '../helpers/chromium.ts'
import type { Answer, Client, Service } from '../helpers/service.ts'
import { createOwnKey, createProgram } from '../identity/api-keys/holders.ts'
import { expect, look } from '../tenancy/staff.ts'
import type { Attack, Tally } from './attack.ts'

// Markup is stored wherever a text can be stored. Each page of the console is then opened in a real browser: it has to
// show the markup as text, and to contain no secret. Mails have to show it as text, too.

export const consolePages: Attack = {
  name: 'pages',
  about: 'stored markup, and secrets, in the pages of the console and in mails',
  async run(stage, tally) {
    const service = await stage.fresh({ env: { RATE_LIMIT_ENABLED: 'false', MAGIC_LINK_ENABLED: 'true' } })
    const planted = await plant(tally, service)
    await inMails(tally, service, planted.owner)
    if (!chromiumPath) return void tally.figures.push('the pages were left out: there is no chromium')
    const ends: (() => unknown)[] = []
    const ending = { teardown: (end: () => unknown) => void ends.push(end) }
    try {
      const { openPage, go } = await openChromium(ending, service)
      const { page, faults } = await openPage(ending)
      await visitAll(tally, page, (path) => go(page, path), planted)
      for (const fault of faults.filter((text) => /Content Security Policy|hit/.test(text)))
        tally.find(`a page reports: ${fault}`)
    } finally {
      for (const end of ends.reverse()) await end()
    }
  },
}

const markup = '<img src=x onerror=hit()>'

interface Planted {
  owner: Client
  /** Secrets that no page may show, by kind. */
  secrets: Record<string, string>
  /** The ids in the paths of pages about one object, by the beginning of the path. */
  ids: Record<string, string>
  /** Paths of further pages about one object. */
  more: string[]
}

/** Stores markup in every text that the interface takes. */
async function plant(tally: Tally, service: Service): Promise<Planted> {
  const office = await openOffice(service, {}, { description: markup })
  const { owner, asker, approver } = office
  const tenant = `/api/v1/tenants/${owner.tenantId}`
  const request = await ask(office, asker, { name: `${markup} asked` })
  await expect(200, approve(approver, request, `${markup} comment`))
  const waiting = await ask(office, asker, { name: `${markup} waiting` })
  const payment = await askForPayment(owner, asker)
  const texts: [method: string, path: string, body: object][] = [
    ['PATCH', '/api/v1/users/me/', { first_name: markup, last_name: 'Owner' }],
    ['PATCH', `${tenant}/`, { name: `${markup} tenant` }],
    [
      'POST',
      `${tenant}/roles/`,
      { name: `${markup} role`, description: markup, permissions: [`document:read`] },
    ],
    ['POST', `${tenant}/invitations/`, { email: 'invited@example.com' }],
    ['POST', '/api/v1/service-accounts/', { name: `${markup} account`, description: markup }],
    ['POST', '/api/v1/users/me/keys/', { name: `${markup} key` }],
    [
      'POST',
      '/api/v1/attribute-definitions/',
      { key: 'grade', display_name: `${markup} grade`, category: 'subject', data_type: 'string' },
    ],
    ['PATCH', '/api/v1/users/me/', { first_name: '\u202e<script>hit()</script>' }],
  ]
  let refused = 0
  for (const [method, path, body] of texts) {
    const { status } = await service.call(method, path, { token: owner.access, body })
    tally.check(status < 500, `${method} ${path} takes markup or refuses it (${status})`)
    if (status >= 400) refused++
  }
  tally.figures.push(`${texts.length} texts with markup, of which ${refused} were refused`)
  await service.call('POST', '/api/v1/auth/login/', {
    body: { email: owner.email, password: owner.password },
    headers: { 'user-agent': `${markup} agent` },
  })
  await expect(200, owner.post('/access/v1/evaluation', evaluation(owner)))
  const webhook = await expect(
    201,
    owner.post('/api/v1/webhooks/', { url: 'https://hooks.example.com/%3Cimg%3E' }),
  )
  const policy = await expect(201, owner.post('/api/v1/policies/', { ...denial, name: `${markup} policy` }))
  const application = await expect(
    201,
    owner.post('/api/v1/oauth-clients/', {
      name: `${markup} application`,
      kind: 'web',
      redirect_uris: ['https://app.example/%3Cimg%3E'],
    }),
  )
  return {
    owner,
    secrets: await secretsOf(service, owner, webhook),
    ids: {
      '/approvals/': waiting,
      '/policies/': policy.id,
      '/applications/': application.id,
      '/webhooks/': webhook.id,
      '/service-accounts/': (await expect(200, owner.get('/api/v1/service-accounts/'))).results[0].id,
      '/decisions/': (await expect(200, owner.get('/api/v1/decisions/'))).results[0].id,
    },
    more: [`/approvals/${payment}`],
  }
}

/** An application asks for an approval of an action of its own; gives the id of the request. */
async function askForPayment(owner: Client, asker: Client): Promise<string> {
  const payee = { category: 'resource', key: 'payee', data_type: 'string' }
  await expect(201, owner.post('/api/v1/attribute-definitions/', payee))
  const gate = {
    name: `${markup} gate`,
    effect: 'require_approval',
    actions: ['invoice:pay'],
    conditions: { attribute: 'resource.payee', operator: 'exists' },
  }
  await expect(201, owner.post('/api/v1/policies/', gate))
  const resource = { type: 'invoice', id: markup, properties: { payee: markup } }
  const question = { action: 'invoice:pay', resource, message: markup }
  return (await expect(201, asker.post('/api/v1/approval-requests/', question))).id
}

const denial = { description: markup, effect: 'deny', actions: ['document:export'] }
const evaluation = ({ id }: Client) => ({
  subject: { type: 'user', id },
  action: { name: 'document:read' },
  resource: { type: 'document', id: markup },
  context: { note: markup },
})

async function secretsOf(
  service: Service,
  owner: Client,
  { secret }: Answer['body'],
): Promise<Record<string, string>> {
  const own = await createOwnKey(service, owner)
  const program = await createProgram(service, owner, ['member'])
  const { codes } = await expect(200, owner.post('/api/v1/auth/otp/static/generate/'))
  return {
    'secret of a webhook': secret,
    'API key': own.key,
    'key of a service account': program.key,
    'access token': owner.access,
    'refresh token': owner.refresh,
    password: owner.password,
    'recovery code': codes[0],
  }
}

async function inMails(tally: Tally, service: Service, owner: Client) {
  await service.mailTo('invited@example.com', 'invited')
  const rows = await look(service, 'select subject, html from captured_mails')
  tally.check(
    rows.some(({ html }) => html.includes('&lt;img src=x')),
    'a mail shows markup as text',
  )
  for (const { subject, html } of rows)
    tally.check(
      !/<img src=x|<script>hit/.test(html),
      `the mail "${subject}" to ${owner.email} contains markup`,
    )
}

/** Every page of the router; new ones are included automatically. */
async function pathsOf(ids: Record<string, string>): Promise<string[]> {
  const file = new URL('../../packages/console/router.tsx', import.meta.url)
  const found = [...(await readFile(file, 'utf8')).matchAll(/^ +in\w+\('(\/[^']*)'/gm)].map(
    ([, path]) => path!,
  )
  return found.map((path) => path.replace('$id', ids[path.replace('$id', '')] ?? '$id'))
}

async function visitAll(
  tally: Tally,
  page: Page,
  go: (path: string) => Promise<void>,
  { owner, secrets, ids, more }: Planted,
) {
  const paths = [...(await pathsOf(ids)), ...more]
  tally.check(paths.length >= 20 && !paths.some((path) => path.includes('$')), `${paths.length} pages`)
  await page.addInitScript('globalThis.hit = () => { globalThis.hits = (globalThis.hits ?? 0) + 1 }')
  const answers: Promise<string>[] = []
  page.on('response', (response) => answers.push(response.text().catch(() => '')))
  await go('/')
  await askForLink(page, owner)
  await go('/')
  await signIn(page, owner)
  await heading(page, 'Overview').waitFor()
  let shown = 0
  for (const path of paths) {
    await go(path)
    await page.waitForLoadState('networkidle')
    const state = (await page.evaluate(inspect)) as PageState
    shown += state.text.split(markup).length - 1
    tally.check(state.hits === 0, `${path} runs stored markup`)
    tally.check(state.odd.length === 0, `${path} contains ${state.odd}`)
    for (const [kind, secret] of Object.entries(secrets))
      tally.check(!state.all.includes(secret), `${path} contains the ${kind}`)
    tally.check(!aToken.test(state.all), `${path} contains a token`)
  }
  tally.check(shown >= 10, `the pages show the markup ${shown} times as text`)
  const received = (await Promise.all(answers)).join('\n')
  for (const [kind, secret] of Object.entries(secrets))
    tally.check(!received.includes(secret), `an answer to the browser contains the ${kind}`)
  tally.check(!aToken.test(received), 'an answer to the browser contains a token')
  tally.figures.push(
    `${paths.length} pages, ${Object.keys(secrets).length} secrets; markup shown as text ${shown} times`,
  )
  await go(`/policies/${ids['/policies/']}?tab=tests`)
  await keepTest(page)
  await afterSignOut(tally, page, owner)
}

/** A JWT, of any session. */
const aToken = /eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+/

/** Asks for a link to sign in, which stays unopened. */
async function askForLink(page: Page, { email }: Client) {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Mail me a link instead' }).click()
  await heading(page, 'Look into your mailbox').waitFor()
}

/** Keeps a test of the policy that the page shows. */
async function keepTest(page: Page) {
  await page.getByRole('button', { name: 'Add a test' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill(markup)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
}

interface PageState {
  hits: number
  /** Elements that only stored markup can have made. */
  odd: string[]
  text: string
  /** Everything that a script of the page could read. */
  all: string
}

const inspect = `(() => {
  const odd = document.querySelectorAll('img[src="x"], [onerror], [onload], iframe, object, embed, a[href^="javascript:"], a[href^="data:"]')
  const scripts = [...document.scripts].filter(({ src }) => !src.startsWith(location.origin))
  const inputs = [...document.querySelectorAll('input, textarea')].map(({ value }) => value)
  return {
    hits: globalThis.hits ?? 0,
    odd: [...odd, ...scripts].map(({ outerHTML }) => outerHTML.slice(0, 80)),
    text: document.body.innerText + inputs.join(' '),
    all: JSON.stringify([localStorage, sessionStorage, document.cookie, document.documentElement.outerHTML, inputs, location.href]),
  }
})()`

/** ASVS 14.3.1: what was shown is gone from the browser. */
async function afterSignOut(tally: Tally, page: Page, { email, tenantId }: Client) {
  const kept = () => page.evaluate<string>('Object.keys(localStorage).sort().join()')
  tally.check(/tests/.test(await kept()), 'before the sign-out the browser keeps a test')
  await page.getByRole('button', { name: email }).click()
  // By key: a menu ignores clicks while it opens.
  await page.getByRole('menuitem', { name: 'Sign out' }).press('Enter')
  await heading(page, 'You are signed out').waitFor()
  const { all } = (await page.evaluate(inspect)) as PageState
  for (const [what, text] of Object.entries({ address: email, tenant: tenantId, markup }))
    tally.check(!all.includes(text), `after the sign-out the browser keeps the ${what}`)
  tally.check(/^(bailiwick-appearance)?$/.test(await kept()), `after the sign-out it keeps ${await kept()}`)
}

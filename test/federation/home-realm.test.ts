import { randomUUID } from 'node:crypto'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { query } from '../helpers/query.ts'
import { type Client, startService } from '../helpers/service.ts'
import { openApplication, request } from '../oauth/relying-party.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import { activeConnection, verifiedDomain } from './active-connection.ts'
import { startProvider } from './provider.ts'

// The pages lead people of an organisation to its connection, and show connections to no one else.

const provider = await startProvider(t)
const service = await startService(t, {
  env: { FEDERATION_ALLOWED_HOSTS: 'localhost', RATE_LIMIT_OAUTH_PER_ADDRESS: '10000' },
})
const database = service.databases.superuser
const { issuer } = provider
const connect = (owner: Client, name: string) => activeConnection(service, owner, provider, { name })
const domainOf = async (
  owner: Client,
  more: Parameters<typeof verifiedDomain>[4] = {},
  lentTo: string[] = [],
) => {
  const name = `${randomUUID()}.example`
  await verifiedDomain(service, owner, name, lentTo, more)
  return name
}
const settings = (owner: Client, sso: string) =>
  query(
    database,
    `update tenants set settings = settings || '{"sso": "${sso}"}' where id = '${owner.tenantId}'`,
  )
/** What a person sees who types an address. */
const typed = async (email: string, pages = openPages(service), at = '/sign-in/') => {
  await pages.visit(at)
  return pages.send({ email })
}
const atProvider = (address: string | null | undefined) => {
  const url = new URL(address!)
  t.equal(url.origin, issuer)
  return url.searchParams
}

t.test(
  'an address of a domain leads to the connection of its tenant, whether it has an account or not',
  async (t) => {
    const owner = await service.signUp()
    const name = await domainOf(owner)
    const known = await colleague(service, owner)
    const email = `known@${name}`
    await query(database, `update users set email = '${email}' where id = '${known.id}'`)
    t.match((await typed(email)).title, /password/i, 'without a connection: the password')
    const id = await connect(owner, 'Nordwind')
    const seen = await typed(email)
    t.match(seen, { status: 200, title: 'Continue with Nordwind', text: /Sign in another way/ })
    const unknown = await typed(`unknown@${name}`)
    const plain = ({ text }: { text: string }) => text.replace(/name="form_token" value="[^"]*"/, '')
    t.equal(plain(unknown), plain(seen))

    t.comment('it goes on there with the address, and in another way to the password')
    const pages = openPages(service)
    await typed(email, pages)
    t.equal(atProvider((await pages.send({})).refresh).get('login_hint'), email)
    t.match(await pages.visit('/sign-in/other-way/'), { text: new RegExp(`${email}.*name="password"`, 's') })
    t.match((await typed(email, pages)).text, /name="password"/, 'and stays with it')

    await owner.patch(`/api/v1/connections/${id}/`, { status: 'disabled' })
    t.match((await typed(email)).text, /name="password"/)
  },
)

t.test(
  'a domain leads where its tenant says: never, with subdomains, and to tenants to which it is lent',
  async (t) => {
    const [owner, borrower] = [await service.signUp(), await service.signUp()]
    const closed = await domainOf(owner, { route: 'never' })
    const wide = await domainOf(owner, { subdomains: true })
    const narrow = await domainOf(owner)
    const lent = await domainOf(owner, {}, [borrower.tenantId])
    const id = await connect(borrower, 'Borrower ID')
    t.equal((await typed(`ada@${lent}`)).title, 'Continue with Borrower ID')
    await connect(owner, 'Owner ID')
    const leads = async (domain: string) => (await typed(`ada@${domain}`)).title === 'Continue with Owner ID'
    t.equal(await leads(closed), false)
    t.equal(await leads(`mail.${wide}`), true)
    t.equal(await leads(`mail.${narrow}`), false)
    t.equal(await leads('nordwind.example'), false)
    const chosen = await typed(`ada@${lent}`)
    t.match(chosen, {
      title: 'How do you sign in?',
      text: /Borrower ID[\s\S]*Owner ID|Owner ID[\s\S]*Borrower ID/,
    })
    t.notMatch(chosen.text, new RegExp(`${borrower.tenantId}|${owner.tenantId}`))
    t.ok(chosen.text.includes(`/sign-in/with/${id}/`))
  },
)

t.test(
  'an application leads to the connection of its tenant, as its request and the tenant say',
  async (t) => {
    const owner = await service.signUp()
    const shop = await openApplication(service, owner, { first_party: true })
    const ask = async (more: Record<string, string> = {}, pages = openPages(service)) => ({
      pages,
      seen: await pages.visit((await request(shop, more)).path),
    })
    const id = await connect(owner, 'Nordwind')
    const other = await connect(await service.signUp(), 'Südwind')
    const name = await domainOf(owner)
    t.match((await ask()).seen, { title: 'Sign in', text: /^(?!.*with\/)/s }, 'off: none is shown')
    await settings(owner, 'optional')
    const { seen: optional } = await ask()
    t.match(optional, { title: 'Sign in', text: /Continue with Nordwind/ })
    t.notMatch(optional.text, /Südwind/)
    t.match(
      (await openPages(service).visit('/sign-in/')).text,
      /^(?!.*with\/)/s,
      'nor where no tenant is named',
    )

    const hints: Record<string, string>[] = [
      { connection: id },
      { login_hint: `ada@${name}` },
      { domain_hint: name },
    ]
    for (const more of hints) atProvider((await ask(more)).seen.refresh)
    t.equal((await ask({ connection: other })).seen.title, 'Sign in', 'that of another tenant is ignored')
    t.equal((await ask({ login_hint: 'ada@elsewhere.example' })).seen.title, 'Sign in')

    t.comment('a link of another tenant does not use the request')
    const { at } = (await ask({ connection: id })).seen
    t.match(await openPages(service).visit(at.replace(id, other)), { status: 200, refresh: undefined })

    t.comment('a form leads to another site only over a page')
    const { pages } = await ask()
    const between = await pages.send({ email: `ada@${name}` })
    t.match(between, { status: 200, title: 'On to Nordwind', text: /Sign in another way/ })
    atProvider((await pages.visit(between.refresh!)).refresh)

    const person = await colleague(service, owner)
    await query(database, `update users set email = 'ada@${name}' where id = '${person.id}'`)
    await proveAddress(service, person)
    await settings(owner, 'required')
    const { pages: browser, seen } = await ask()
    atProvider(seen.refresh)
    provider.person = { sub: randomUUID(), email: `ada@${name}` }
    const { pathname, search } = new URL(provider.signIn(seen.refresh!))
    const back = await browser.visit(`${pathname}${search}`)
    t.match((await browser.visit(back.refresh!)).refresh, /[?&]code=/)

    await connect(owner, 'Nordwind Labs')
    t.match((await ask()).seen, { title: 'How do you sign in?', text: /Nordwind Labs/ })
  },
)

t.test('in another way, the right password opens the tenant to owners alone', async (t) => {
  const owner = await service.signUp()
  await proveAddress(service, owner)
  service.advance(25 * 3_600_000)
  const boss = await service.logIn(owner)
  const shop = await openApplication(service, boss, { first_party: true })
  const id = await connect(boss, 'Nordwind')
  const member = await colleague(service, boss)
  await settings(boss, 'required')
  const signIn = async ({ email, password }: Pick<Client, 'email' | 'password'>) => {
    const pages = openPages(service)
    const { refresh, at } = await pages.visit((await request(shop)).path)
    atProvider(refresh)
    const back = await pages.visit(at.replace(/with\/[^/]+/, 'other-way'))
    t.match(back, { title: 'Sign in', text: /name="email"/ })
    await pages.send({ email })
    return pages.send({ password })
  }
  const refused = await signIn(member)
  t.match(refused.alert, /own identity provider/)
  t.match(refused.text, new RegExp(`/sign-in/with/${id}/\\?return_to=`))
  t.match((await signIn({ ...member, password: 'wrong' })).alert, /do not match/)
  t.match(await signIn(owner), { text: /name="code"|code/ })

  t.comment('one who is signed in elsewhere is told where, too')
  const pages = openPages(service)
  await pages.visit('/sign-in/')
  await pages.send({ email: member.email })
  await pages.send({ password: member.password })
  await pages.visit('/sign-in/organisation/')
  const chosen = await pages.send({ tenant_id: boss.tenantId })
  t.match(chosen, { alert: /own identity provider/, text: new RegExp(`/sign-in/with/${id}/"`) })
})

t.test(
  'the pages of an application have the look of its tenant, whatever the address of the page names',
  async (t) => {
    const [owner, other] = [await service.signUp(), await service.signUp()]
    const brand = ({ tenantId }: Client, name: string) =>
      query(
        database,
        `update tenants set settings = settings || '{"sso": "optional", "branding": {"name": "${name}"}}' where id = '${tenantId}'`,
      )
    await brand(owner, 'Nordwind')
    await brand(other, 'Südwind')
    await connect(other, 'Südwind ID')
    const shop = await openApplication(service, owner)
    const pages = openPages(service)
    const { at } = await pages.visit((await request(shop)).path)
    const seen = await pages.visit(at.replace(owner.tenantId, other.tenantId))
    t.match(seen.text, /Nordwind/)
    t.notMatch(seen.text, /Südwind/)
    t.match((await openPages(service).visit(`/sign-in/?organization=${other.tenantId}`)).text, /Südwind ID/)
  },
)

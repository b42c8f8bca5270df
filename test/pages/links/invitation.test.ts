import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import type { Client } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { codeAt, enrol, startBeside } from '../../identity/otp/authenticator.ts'
import { originOf, softwareAuthenticator } from '../../identity/passkeys/software-passkey.ts'
import { expect, foundFirm } from '../../tenancy/staff.ts'
import { linkIn, openPages } from '../sign-in/page-client.ts'

// People join an organisation by the link in its mail, in a browser without scripts.

const service = await sharedService(t)
let guests = 0

/** A firm that invites an address; gives the address of the link below the service. */
async function invite(email = `guest${++guests}.${service.now()}@example.com`) {
  const { owner, path, id, role } = await foundFirm(service)
  await expect(200, owner.patch('/api/v1/users/me/', { first_name: 'Olga', last_name: 'Nord' }))
  const sales = await role('department:list')
  const { id: invitation } = await expect(201, owner.post(`${path}/invitations/`, { email, roles: [sales] }))
  const link = linkIn(await service.mailTo(email, 'invited'), '/accept-invitation')
  const members = async (): Promise<{ email: string }[]> =>
    (await expect(200, owner.get(`${path}/members/`))).results
  return { email, link, owner, path, id, invitation, sales, members }
}

async function signIn(person: Client, headers = {}) {
  const pages = openPages(service, { headers })
  await pages.visit('/sign-in/')
  await pages.send({ email: person.email })
  await pages.send({ password: person.password })
  return pages
}

t.test('a new person makes an account, is a member, and signed in', async (t) => {
  const { email, link, sales, members } = await invite()
  const pages = openPages(service)
  t.match(await pages.visit(link), { status: 200, title: 'Join Firm' })
  t.match(pages.seen().text, `Olga Nord invites you, with the role ${sales}.`)
  t.match(pages.seen().text, email)
  t.match(await pages.send({ password: 'password', first_name: 'Gus' }), { status: 400, title: 'Join Firm' })
  t.match(pages.seen().text, /value="Gus"[\s\S]*Attackers know this password/)
  t.match(await pages.send({ password: 'a quiet harbour', first_name: 'Gus' }), {
    status: 200,
    title: 'You have joined Firm',
  })
  t.notMatch(pages.seen().text, 'console')
  t.match(await pages.visit('/sign-in/'), { title: 'You are signed in' })
  t.match(pages.seen().text, /Gus[\s\S]*Firm/)
  t.ok((await members()).some((member) => member.email === email))
  t.match(await pages.visit(link), { title: 'This link does not work any more' })
})

t.test('a new person makes a passkey in place of a password, and shows it to enter', async (t) => {
  const { email, link, members } = await invite()
  const pages = openPages(service)
  await pages.visit(link)
  const authenticator = softwareAuthenticator(originOf(service))
  t.match(await pages.usePasskey('join', () => 'none'), { status: 400, title: 'Join Firm' })
  t.match(await pages.usePasskey('join', authenticator.create), { title: 'Confirm that it is you' })
  t.ok((await members()).some((member) => member.email === email))
  t.match(await pages.usePasskey('code/passkey', authenticator.get), { title: 'You are signed in' })
  t.match(pages.seen().text, email)
  const later = openPages(service)
  await later.visit('/sign-in/')
  t.match(await later.usePasskey('passkey', authenticator.get), { title: 'You are signed in' })
})

t.test('a person with an account signs in, comes back, and joins by one click', async (t) => {
  const guest = await service.signUp()
  const { secret } = await enrol(service, guest)
  service.advance(60_000)
  const { link, id, members } = await invite(guest.email)
  const pages = openPages(service)
  t.match(await pages.visit(link), { title: 'Join Firm' })
  t.notMatch(pages.seen().text, '<form')
  const next = /class="button" href="([^"]*)"/.exec(pages.seen().text)![1]!
  t.match(await pages.visit(next), { title: 'Enter your password' })
  t.match(await pages.send({ password: guest.password }), { title: 'Confirm that it is you' })
  t.match(await pages.send({ code: codeAt(secret, service.now()) }), { refresh: '/accept-invitation' })
  t.match(await pages.visit('/accept-invitation'), { title: 'Join Firm' })
  t.match(pages.seen().text, guest.email)
  t.match(await pages.send({}), { title: 'You have joined Firm' })
  t.match(await pages.send({ tenant_id: id }), { title: 'You are signed in' })
  t.match(pages.seen().text, 'Firm')
  t.ok((await members()).some(({ email }) => email === guest.email))
})

t.test('a person who is signed in reads who invites them, and joins without the mail', async (t) => {
  const [guest, other] = [await service.signUp(), await service.signUp()]
  await proveAddress(service, guest, other)
  const { id, invitation, owner, path, members } = await invite(guest.email)
  const pages = await signIn(guest)
  t.match(pages.seen(), { title: 'You are signed in' })
  t.match(pages.seen().text, 'You are invited to Firm')
  const [, link = ''] = /href="(\/sign-in\/invitation\/[^"]*)"/.exec(pages.seen().text)!
  t.match(await (await signIn(other)).visit(link), { status: 200, title: 'This did not work' })
  t.match(await openPages(service).visit(link), { title: 'Sign in' })
  t.match(await pages.visit(`${link}?return_to=/docs`), { title: 'Join Firm' })
  t.match(pages.seen().text, /Olga Nord invites you, with the role [\s\S]*Join Firm<\/button>/)
  t.match(await pages.send({}, `invitation/received/${invitation}`), { title: 'You have joined Firm' })
  t.match(await pages.send({ tenant_id: id }), { refresh: '/docs' })
  t.ok((await members()).some(({ email }) => email === guest.email))
  t.match(await pages.visit(link), { title: 'This link does not work any more' })
  const again = await expect(
    201,
    owner.post(`${path}/invitations/`, { email: other.email, roles: ['admin', 'auditor'] }),
  )
  const inGerman = await signIn(other, { 'Accept-Language': 'de' })
  await inGerman.visit(`/sign-in/invitation/received/${again.id}/`)
  t.match(inGerman.seen().text, 'Olga Nord lädt Sie ein, mit den Rollen Administrator und Prüfer.')
})

t.test('who is signed in with another address signs out first', async (t) => {
  const [guest, other] = [await service.signUp(), await service.signUp()]
  const { link, members } = await invite(guest.email)
  const pages = await signIn(other)
  t.match(await pages.visit(link), { title: 'Join Firm' })
  t.match(pages.seen().text, `The invitation is for ${guest.email}, and you are signed in as ${other.email}.`)
  t.match(await pages.send({ step: 'sign-out' }), { title: 'Join Firm' })
  t.match(pages.seen().text, 'Sign in to join')
  t.notOk(pages.cookies.has('bailiwick-login'))
  t.notOk((await members()).some(({ email }) => email === other.email))
})

t.test('a cancelled invitation, and a late one, say what to do', async (t) => {
  const first = await invite()
  const pages = openPages(service, { headers: { 'Accept-Language': 'de' } })
  await pages.visit(first.link)
  await expect(200, first.owner.post(`${first.path}/invitations/${first.invitation}/cancel/`))
  t.match(await pages.send({ password: 'a quiet harbour' }), {
    status: 400,
    title: 'Dieser Link gilt nicht mehr',
  })
  t.notMatch(pages.seen().text, '<form')
})

t.test('without the sign-in pages people join all the same, and stay signed out', async (t) => {
  const beside = { url: await startBeside(t, service, { HOSTED_PAGES: 'false', CONSOLE_ENABLED: 'false' }) }
  t.equal((await openPages(beside).visit('/sign-in/')).status, 404)
  t.equal((await fetch(`${beside.url}/sign-in/look/accent/1d4ed8.css`)).status, 200, 'pages of links load it')
  const guest = await service.signUp()
  const { link } = await invite(guest.email)
  const pages = openPages(beside)
  await pages.visit(link)
  await pages.visit('/sign-in/password/?return_to=%2Faccept-invitation')
  await pages.send({ password: guest.password })
  await pages.visit('/accept-invitation')
  t.match(await pages.send({}), { title: 'You have joined Firm' })
  t.match(pages.seen().text, 'Sign in to your application as usual.')
  t.notOk(pages.cookies.has('bailiwick-login'))
  t.equal((await pages.visit('/sign-in/')).status, 404)
  await pages.visit(`/accept-invitation?token=${'A'.repeat(43)}`)
  t.equal((await pages.visit('/sign-in/')).status, 404, 'nor for an invitation that is none')
  const { link: second, owner, path, invitation } = await invite()
  await pages.visit(second)
  t.equal((await pages.visit('/sign-in/')).status, 200)
  await expect(200, owner.post(`${path}/invitations/${invitation}/cancel/`))
  t.equal((await pages.visit('/sign-in/')).status, 404, 'nor for one that was cancelled')
  const { link: third } = await invite()
  await pages.visit(third)
  t.match(await pages.send({ password: 'a quiet harbour' }), { title: 'You have joined Firm' })
  t.notOk(pages.cookies.has('bailiwick-login'))
})

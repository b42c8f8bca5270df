import t from 'tap'
import { type Client, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { confirmAddress, eventsOf, expect, foundFirm } from '../staff.ts'

const service = await sharedService(t)
const taken = { status: 409, body: { code: 'key_taken' } }

t.test(
  'a member has no external_id until one is set, and one change sets, keeps or takes it away',
  async (t) => {
    const { owner, path, id, hire } = await foundFirm(service)
    const clerk = await hire('member')
    const at = `${path}/members/${clerk.memberId}/`
    t.equal((await expect(200, owner.get(at))).external_id, null)
    const named = await expect(200, owner.patch(at, { external_id: ' Emp|0042 ' }))
    t.equal(named.external_id, 'Emp|0042', 'spaces around it do not count')
    t.same(await expect(200, owner.patch(at, { external_id: 'Emp|0042' })), named, 'nothing changed')
    t.same(await expect(200, owner.put(at, { roles: ['member'] })), named, 'an absent field keeps it')
    t.match(await owner.get(`${path}/members/?external_id=Emp%7C0042`), {
      status: 200,
      body: { count: 1, results: [{ id: clerk.memberId, external_id: 'Emp|0042' }] },
    })
    t.match(
      (await owner.get(`${path}/members/?external_id=emp%7C0042`)).body,
      { count: 0 },
      'compared exactly',
    )
    const { results } = await expect(200, owner.get('/api/v1/audit-log/?action=member:update'))
    t.same(results[0].changes, { external_id: { before: null, after: 'Emp|0042' } })
    t.equal((await expect(200, owner.patch(at, { external_id: null }))).external_id, null)
    const updated = (await eventsOf(service, id, 'tenant.member_updated')).length
    t.equal(updated, 2, 'one event for each change')
  },
)

t.test('an external_id is text of 1 to 128 characters, and only people have one', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const clerk = await hire('member')
  const at = `${path}/members/${clerk.memberId}/`
  const invalid = { status: 400, body: { errors: [{ field: 'external_id' }] } }
  for (const external_id of ['', '  ', 7, 'x'.repeat(129), 'a\nb'])
    t.match(await owner.patch(at, { external_id }), invalid, JSON.stringify(external_id))
  t.equal((await expect(200, owner.patch(at, { external_id: '😀'.repeat(128) }))).external_id.length, 256)
  const account = await expect(201, owner.post('/api/v1/service-accounts/', { name: 'Robot' }))
  t.match(await owner.patch(`${path}/members/${account.id}/`, { external_id: 'robot' }), invalid)
})

t.test('an external_id that is a name of another member is 409', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const other = await foundFirm(service)
  const [clerk, peer, claimer] = [await hire('member'), await hire('member'), await hire('member')]
  await confirmAddress(service, peer)
  const at = (one: { memberId: string }) => `${path}/members/${one.memberId}/`
  await expect(200, owner.patch(at(peer), { external_id: 'peer' }))
  const name = (external_id: string) => owner.patch(at(clerk), { external_id })
  t.match(await name('peer'), taken, 'the external_id')
  t.match(await name(peer.id.toUpperCase()), taken, 'the id')
  t.match(await name(peer.email), taken, 'the address')
  t.match(await name(peer.email.toUpperCase()), taken)
  t.equal((await name(claimer.email)).status, 200, 'an unverified address is no name')
  t.equal((await name('Peer')).status, 200, 'another case is another external_id')
  t.equal((await name(clerk.id)).status, 200, 'the own id')
  const foreign = await other.hire('member')
  const there = `${other.path}/members/${foreign.memberId}/`
  t.equal((await other.owner.patch(there, { external_id: 'peer' })).status, 200, 'unique in a tenant')
  const person = await service.signUp()
  const add = (external_id: string) => owner.post(`${path}/members/`, { user_id: person.id, external_id })
  t.match(await add('peer'), taken, 'of a new member')
  t.match(await add('newcomer'), { status: 201, body: { external_id: 'newcomer' } })
})

t.test('of simultaneous changes to the same external_id one succeeds', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const staff = await Promise.all(Array.from({ length: 4 }, () => hire('member')))
  const answers = await Promise.all(
    staff.map(({ memberId }) => owner.patch(`${path}/members/${memberId}/`, { external_id: 'same' })),
  )
  t.same(answers.map(({ status }) => status).sort(), [200, 409, 409, 409])
  t.equal((await expect(200, owner.get(`${path}/members/?external_id=same`))).count, 1)
})

t.test('setting an external_id takes policy:update, because questions name a person by it', async (t) => {
  const { path, owner, hire, role } = await foundFirm(service)
  const [clerk, guest] = [await hire('member'), await service.signUp()]
  const lead = await hire('member', await role('member:update', 'member:create', 'invitation:create'))
  const denied = { status: 403, body: { code: 'permission_denied', detail: /policy:update/ } }
  const [own, others] = [lead, clerk].map(({ memberId }) => `${path}/members/${memberId}/`)
  for (const at of [own!, others!]) t.match(await lead.patch(at, { external_id: 'ceo' }), denied)
  t.match(await lead.post(`${path}/members/`, { user_id: guest.id, external_id: 'ceo' }), denied)
  t.match(await lead.post(`${path}/invitations/`, { email: guest.email, external_id: 'ceo' }), denied)
  await expect(200, owner.patch(others!, { external_id: 'ceo' }))
  t.match(await lead.patch(others!, { external_id: null }), denied)
  t.equal((await lead.patch(others!, { external_id: 'ceo', department_id: null })).status, 200, 'no change')
})

t.test('an invitation carries an external_id to the membership', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const [guest, late] = [await service.signUp(), await service.signUp()]
  const invite = (email: string, external_id: string) =>
    owner.post(`${path}/invitations/`, { email, external_id })
  const accept = async (who: Client) =>
    who.post('/api/v1/invitations/accept/', { token: tokenIn(await service.mailTo(who.email, 'invited')) })
  const made = await expect(201, invite(guest.email, 'guest-1'))
  t.equal(made.external_id, 'guest-1')
  t.match(await accept(guest), { status: 200, body: { member: { external_id: 'guest-1' } } })
  t.match(await invite((await service.signUp()).email, 'guest-1'), taken)

  await expect(201, invite(late.email, 'guest-2'))
  const clerk = await hire('member')
  await expect(200, owner.patch(`${path}/members/${clerk.memberId}/`, { external_id: 'guest-2' }))
  const refused = { status: 400, body: { code: 'invitation_invalid' } }
  t.match(await accept(late), refused, 'another member has the name by now')
})

t.test('an invitation leaves the external_id of a person who is a member', async (t) => {
  const { owner, path } = await foundFirm(service)
  const person = await service.signUp()
  const named = { user_id: person.id, external_id: 'payroll-1' }
  await expect(201, owner.post(`${path}/members/`, named))
  await expect(
    201,
    owner.post(`${path}/invitations/`, { email: person.email, external_id: 'payroll-2', roles: ['auditor'] }),
  )
  const token = tokenIn(await service.mailTo(person.email, 'invited'))
  t.match(await person.post('/api/v1/invitations/accept/', { token }), {
    status: 200,
    body: { member: { external_id: 'payroll-1', roles: ['member', 'auditor'] } },
  })
})

t.test(
  'of simultaneous acceptances with the same external_id one succeeds, and the others join later',
  async (t) => {
    const { owner, path } = await foundFirm(service)
    const guests = await Promise.all(Array.from({ length: 3 }, () => service.signUp()))
    for (const { email } of guests)
      await expect(201, owner.post(`${path}/invitations/`, { email, external_id: 'desk-1' }))
    const tokens = await Promise.all(
      guests.map(async ({ email }) => tokenIn(await service.mailTo(email, 'invited'))),
    )
    const accept = (guest: Client, index: number) =>
      guest.post('/api/v1/invitations/accept/', { token: tokens[index] })
    const answers = await Promise.all(guests.map(accept))
    t.same(answers.map(({ status }) => status).sort(), [200, 400, 400])
    for (const { status, body } of answers) if (status === 400) t.equal(body.code, 'invitation_invalid')
    t.equal((await expect(200, owner.get(`${path}/members/`))).count, 2, 'the refused are no members')
    const refused = answers.findIndex(({ status }) => status === 400)
    const { results } = await expect(200, owner.get(`${path}/members/?external_id=desk-1`))
    await expect(200, owner.patch(`${path}/members/${results[0].id}/`, { external_id: null }))
    t.equal((await accept(guests[refused]!, refused)).status, 200, 'the invitation was not used up')
  },
)

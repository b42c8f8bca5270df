import t from 'tap'
import { eraseUser } from '../../../src/identity/users/erase-user.ts'
import { setUserActive } from '../../../src/identity/users/set-user-active.ts'
import { untilLocked } from '../../helpers/lock-waits.ts'
import { withClient } from '../../helpers/query.ts'
import { type Client, startService, tokenIn } from '../../helpers/service.ts'
import { confirmAddress, expect, foundFirm, look, wrongCounts } from '../staff.ts'

// A tenant reads what it shows of a person from copies in `memberships`. Each is as in `users` after every change, also where changes,
// joins and erasures meet.

const service = await startService(t)
const requestInfo = { requestId: 'copies', ip: '', userAgent: '', traceparent: null }
const me = '/api/v1/users/me/'
const copied = ['email', 'first_name', 'last_name', 'is_active', 'email_verified', 'date_joined']

/** The memberships whose copies differ from their person, or have none. */
const outdated = () =>
  look(
    service,
    `select m.tenant_id, m.email from memberships m left join users u on u.id = m.user_id
     where m.kind = 'user' and (${copied.map((name) => `m.${name} is distinct from u.${name}`).join(' or ')}
       or m.person_version is distinct from u.version)`,
  )
const setActive = ({ id }: Client, active: boolean) =>
  setUserActive(service.deps, requestInfo, { person: { id }, active })

t.test('each change of a person is in all their tenants, and changes the ETag of the member', async (t) => {
  const firm = await foundFirm(service)
  const ada = await firm.hire('member')
  const read = () => firm.owner.get(`${firm.path}/members/${ada.memberId}/`)
  const etags = new Set([(await read()).headers.get('etag')])
  const changes = {
    verified: () => confirmAddress(service, ada),
    renamed: () => expect(200, ada.patch(me, { first_name: 'Ada', last_name: 'Quill' })),
    moved: () => expect(200, ada.patch(me, { email: `new.${ada.email}`, current_password: ada.password })),
    'switched off': () => setActive(ada, false),
    'switched on': () => setActive(ada, true),
  }
  const shown = []
  for (const [title, change] of Object.entries(changes)) {
    await change()
    t.same(await outdated(), [], title)
    const { body, headers } = await read()
    etags.add(headers.get('etag'))
    shown.push([
      body.user.email === ada.email,
      body.email_verified,
      body.user.first_name,
      body.user.is_active,
    ])
  }
  t.same(shown, [
    [true, true, shown[0]![2], true],
    [true, true, 'Ada', true],
    [false, false, 'Ada', true],
    [false, false, 'Ada', false],
    [false, false, 'Ada', true],
  ])
  t.equal(etags.size, 6)
})

t.test('a person who changes while they are added is not added with what they were', async (t) => {
  const firm = await foundFirm(service)
  const ada = await service.signUp()
  const add = () => firm.owner.post(`${firm.path}/members/`, { user_id: ada.id })
  await withClient(service.databases.superuser, async (client) => {
    await client.query('begin')
    await client.query("update users set first_name = 'Adalinda', version = version + 1 where id = $1", [
      ada.id,
    ])
    const adding = add()
    await untilLocked(service.databases.superuser, [adding])
    await client.query('commit')
    t.match(await adding, { status: 409, body: { code: 'overtaken' } })
  })
  t.match(await add(), { status: 201, body: { user: { first_name: 'Adalinda' } } })
  t.same(await outdated(), [])
})

t.test('a person who is added while they change has the change in the new tenant', async (t) => {
  const firm = await foundFirm(service)
  const ada = await service.signUp()
  await withClient(service.databases.superuser, async (client) => {
    await client.query('begin')
    await client.query('select 1 from row_counts where tenant_id = $1 for update', [firm.id])
    const adding = firm.owner.post(`${firm.path}/members/`, { user_id: ada.id })
    await untilLocked(service.databases.superuser, [adding])
    const changing = ada.patch(me, { first_name: 'Adalinda' })
    await untilLocked(service.databases.superuser, [adding, changing])
    await client.query('commit')
    t.same([(await adding).status, (await changing).status], [201, 200])
  })
  t.same(await outdated(), [])
})

t.test('after changes, joins and erasures at once, no copy is out of date', async (t) => {
  const firms = await Promise.all([1, 2].map(() => foundFirm(service)))
  const statuses = new Map<string, number>()
  const count = (what: string, { status }: { status: number }) =>
    statuses.set(`${what} ${status}`, (statuses.get(`${what} ${status}`) ?? 0) + 1)
  await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      const ada = await service.signUp()
      const tokens = []
      for (const { owner, path } of firms) {
        await expect(201, owner.post(`${path}/invitations/`, { email: ada.email }))
        tokens.push(tokenIn(await service.mailTo(ada.email, 'invited')))
      }
      const accept = (token: string) =>
        ada.post('/api/v1/invitations/accept/', { token }).then((answer) => count('accept', answer))
      const add = ({ owner, path }: (typeof firms)[number]) =>
        owner.post(`${path}/members/`, { user_id: ada.id }).then((answer) => count('add', answer))
      const rename = (first_name: string) =>
        ada.patch(me, { first_name }).then((answer) => count('rename', answer))
      const work: Promise<unknown>[] = [
        rename('A'),
        accept(tokens[0]!),
        add(firms[1]!),
        rename('B'),
        confirmAddress(service, ada).catch(() => undefined),
        accept(tokens[1]!),
        rename('C'),
        ada.post('/api/v1/tenants/', { name: 'Own' }).then((answer) => count('found', answer)),
      ]
      if (n % 4 === 1) work.push(setActive(ada, false))
      if (n % 4 === 3)
        work.push(eraseUser(service.deps, { person: { id: ada.id }, by: 'operator', requestInfo }))
      await Promise.all(work)
    }),
  )
  t.same(await outdated(), [])
  t.same(await wrongCounts(service), [])
  const said = [...statuses].map(([what, times]) => `${what}: ${times}`).sort()
  t.comment(said.join(', '))
  t.notOk(said.some((line) => / 5\d\d/.test(line)))
})

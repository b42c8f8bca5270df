// own process: it has a cluster of its own, of which it stops a node
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { proveAddress } from '../helpers/prove-address.ts'
import { query } from '../helpers/query.ts'
import type { Client } from '../helpers/service.ts'
import { serveCluster, skip, untilServed } from './served-cluster.ts'

const actors = ['outbox-relay', 'event-fanout', 'email']

t.test('a node that dies takes only its tenants along, and loses nothing', { skip }, async (t) => {
  const { service, nodes, nodeOf, control } = await serveCluster(t, { actors })
  const { tokenIn } = await import('../helpers/service.ts') // only now, because it reads which cluster to use
  // Citus prefers the node with the lowest port for what one node does for all.
  const victim = nodes.toSorted((a, b) => Number(new URL(a).port) - Number(new URL(b).port))[0]!
  const there: Client[] = []
  const elsewhere: Client[] = []
  for (let tries = 0; tries < 20 && (there.length < 2 || elsewhere.length < 2); tries++) {
    const owner = await service.signUp()
    const isThere = (await nodeOf(owner.tenantId)) === new URL(victim).port
    const group = isThere ? there : elsewhere
    group.push(owner)
  }
  await proveAddress(service, ...elsewhere)
  const roles = (owner: Client) => `/api/v1/tenants/${owner.tenantId}/roles/`
  const owners = [...there, ...elsewhere]
  const acknowledged: { owner: Client; name: string }[] = []
  const untilHandled = async (tenantId: string): Promise<number> => {
    for (let tries = 0; ; tries++, await sleep(250)) {
      const waiting = `select count(*)::int as count from outbox where tenant_id = '${tenantId}'`
      const [row] = await query(service.databases.superuser, waiting)
      if (row!.count === 0 || tries === 120) return row!.count as number
    }
  }
  let dead = false
  let invitation: string | undefined
  const write = async (owner: Client) => {
    for (let number = 0; !dead && number < 500; number++) {
      const name = `Role ${number}`
      const { status, body } = await owner.post(roles(owner), { name })
      if (status === 201) acknowledged.push({ owner, name })
      if (body?.code === 'limit_reached') return
    }
  }
  const writing = Promise.all(owners.map(write))
  for (let tries = 0; acknowledged.length < 20 && tries < 300; tries++) await sleep(100)
  await control(victim, 'stop', '-m', 'immediate')
  dead = true
  await writing
  t.ok(acknowledged.length >= 20, `${acknowledged.length} writes were acknowledged`)

  await t.test('its tenants get 503 within 5 s, the others are served', async (t) => {
    for (const owner of there) {
      const begun = performance.now()
      const { status } = await owner.get(roles(owner))
      t.equal(status, 503)
      t.ok(performance.now() - begun < 5_000, `${Math.round(performance.now() - begun)} ms`)
    }
    for (const owner of elsewhere) {
      t.equal((await owner.get(roles(owner))).status, 200)
      const question = {
        subject: { type: 'user', id: owner.id },
        action: { name: 'role:list' },
        resource: { type: 'tenant', id: owner.tenantId },
      }
      t.match(await owner.post('/access/v1/evaluation', question), {
        status: 200,
        body: { decision: Boolean },
      })
    }
  })

  await t.test('people whose tenants are on other nodes sign in', async (t) => {
    for (const owner of elsewhere) {
      const again = await service.logIn(owner)
      t.match(await again.get('/api/v1/users/me/'), {
        status: 200,
        body: { memberships: [{ tenant: { id: owner.tenantId }, roles: ['owner'] }] },
      })
      t.match(await again.get('/api/v1/tenants/'), {
        status: 200,
        body: { count: 1, results: [{ id: owner.tenantId, my_roles: ['owner'], member_count: 1 }] },
      })
      const refreshed = await service.call('POST', '/api/v1/auth/refresh/', {
        body: { refresh: again.refresh },
      })
      t.equal(refreshed.status, 200)
      await again.switchTo(owner.tenantId)
    }
    const { email, password } = there[0]!
    const { status } = await service.call('POST', '/api/v1/auth/login/', { body: { email, password } })
    t.equal(status, 503, 'a person with a tenant on the dead node waits for it')
  })

  await t.test('meanwhile the others change what is theirs, and their events are handled', async (t) => {
    for (const owner of elsewhere) {
      const { status } = await owner.post(`/api/v1/tenants/${owner.tenantId}/departments/`, {
        name: 'Meanwhile',
      })
      t.equal(status, 201)
      const guest = `guest.of.${owner.id}@example.com`
      const invited = await owner.post(`/api/v1/tenants/${owner.tenantId}/invitations/`, { email: guest })
      t.equal(invited.status, 201)
      invitation ??= tokenIn(await service.mailTo(guest, 'invited'))
      t.equal(await untilHandled(owner.tenantId), 0, 'no message waits in the outbox')
      const { body } = await owner.get('/api/v1/events/?newest=true')
      t.match(body.results.at(-1), { type: 'tenant.invitation_created' }, 'the event is in the feed')
    }
  })

  await t.test('what concerns all nodes waits: 503', async (t) => {
    const [owner] = elsewhere as [Client]
    const tenant = `/api/v1/tenants/${owner.tenantId}/`
    t.equal(
      (await owner.patch('/api/v1/users/me/', { first_name: 'Later' })).status,
      503,
      'changes of people',
    )
    t.equal((await owner.patch(tenant, { name: 'Later' })).status, 503, 'changes of tenants')
    const accept = { token: invitation, password: owner.password }
    const { status } = await service.call('POST', '/api/v1/invitations/accept/', { body: accept })
    t.equal(status, 503, 'the token of an invitation does not say of which tenant it is')
    t.equal((await owner.get('/api/v1/users/me/invitations/')).status, 503, 'invitations of all tenants')
  })

  await t.test('after its return, what was acknowledged is there, and all are served', async (t) => {
    await control(victim, 'start')
    for (const owner of owners) {
      const names = await allNames(owner, roles(owner))
      const own = acknowledged.filter((one) => one.owner === owner)
      t.same(
        own.filter(({ name }) => !names.includes(name)),
        [],
        `${own.length} roles`,
      )
      const { status } = await untilServed(() => owner.patch(`/api/v1/users/me/`, { first_name: 'Back' }))
      t.equal(status, 200)
    }
  })
})

async function allNames(owner: Client, path: string): Promise<string[]> {
  const names: string[] = []
  for (let next: string | null = `${path}?page_size=100`; next; ) {
    const { status, body } = await untilServed(() => owner.get(next!))
    if (status !== 200) throw new Error(`${status}`)
    names.push(...body.results.map((role: { name: string }) => role.name))
    next = body.next && new URL(body.next).pathname + new URL(body.next).search
  }
  return names
}

import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

// The interoperability scenarios of AuthZEN 1.0. Their people are members (Todo), or subjects of the application's own
// types, because type `user` means a member here.

const service = await sharedService(t)

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

async function ask(asking: Client, path: string, question: object): Promise<Json> {
  const { status, body } = await asking.post(`/access/v1/${path}`, question)
  if (status !== 200) throw new Error(`Expected an answer, got ${status} ${JSON.stringify(body)}`)
  return body
}
const decisionsOf = async (asking: Client, evaluations: object[]): Promise<boolean[]> =>
  (await ask(asking, 'evaluations', { evaluations })).evaluations.map(({ decision }: Json) => decision)

async function must(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
  const { status, body } = await answer
  if (status >= 300) throw new Error(`Expected success, got ${status} ${JSON.stringify(body)}`)
  return body
}
const makers = (owner: Client) => ({
  policy: (name: string, actions: string[], more: object = {}) =>
    must(owner.post('/api/v1/policies/', { name, effect: 'allow', actions, ...more })),
  attribute: (category: string, key: string) =>
    must(owner.post('/api/v1/attribute-definitions/', { category, key, data_type: 'string' })),
})

t.test('Todo 1.1: five members, in one batch', async (t) => {
  const owner = await service.signUp()
  const { policy, attribute } = makers(owner)
  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  const roles = {
    viewer: ['todo:can_read_todos'],
    editor: ['todo:can_read_todos', 'todo:can_create_todo'],
    admin_of_todos: ['todo:can_delete_todo', 'todo:can_create_todo', 'todo:can_read_todos'],
    evil_genius: ['todo:can_update_todo'],
  }
  for (const [name, permissions] of Object.entries(roles))
    await must(owner.post(`${tenant}roles/`, { name, permissions }))
  await attribute('resource', 'ownerID')
  const own = { attribute: 'resource.ownerID', operator: 'eq', value_from: 'subject.id' }
  const change = ['todo:can_update_todo', 'todo:can_delete_todo']
  await policy('Editors change their own', change, { subjects: { roles: ['editor'] }, conditions: own })
  const person = async (...names: string[]) => {
    const made = await colleague(service, owner)
    const { results } = (await owner.get(`${tenant}members/?user_id=${made.id}`)).body
    await must(owner.put(`${tenant}members/${results[0].id}/`, { roles: ['member', ...names] }))
    return made.id
  }
  const rick = await person('admin_of_todos', 'evil_genius')
  const [morty, summer] = [await person('editor'), await person('editor')]
  const [beth, jerry] = [await person('viewer'), await person('viewer')]

  const questions = (id: string) => {
    const about = (name: string, resource: object) => ({
      subject: { type: 'user', id },
      action: { name },
      resource,
    })
    const todo = (ownerID?: string) => ({
      type: 'todo',
      id: '7240d0db-8ff0-41ec-98b2-34a096273b9f',
      ...(ownerID && { properties: { ownerID } }),
    })
    return [
      // The scenario's `can_read_user`: people are objects of the service.
      about('user:read', { type: 'user', id: beth }),
      about('user:read', { type: 'user', id }),
      about('can_read_todos', todo()),
      about('can_create_todo', todo()),
      about('can_update_todo', todo(rick)),
      about('can_update_todo', todo(id)),
      about('can_delete_todo', todo(rick)),
      about('can_delete_todo', todo(id)),
    ]
  }
  const [all, editor] = [Array(8).fill(true), [true, true, true, true, false, true, false, true]]
  const viewer = [true, true, true, false, false, false, false, false]
  const asked = [rick, morty, summer, beth, jerry].flatMap(questions)
  t.same(await decisionsOf(owner, asked), [...all, ...editor, ...editor, ...viewer, ...viewer])
})

t.test('API gateway: methods on routes, for identities', async (t) => {
  const owner = await service.signUp()
  const { policy } = makers(owner)
  const writers = ['rick', 'morty', 'summer']
  await policy('All read', ['route:get'])
  await policy('Some write', ['route:post', 'route:put', 'route:delete'], {
    conditions: { attribute: 'subject.id', operator: 'in', value: writers },
  })
  const calls = [
    ['GET', '/users/{userId}'],
    ['GET', '/todos'],
    ['POST', '/todos'],
    ['PUT', '/todos/{todoId}'],
    ['DELETE', '/todos/{todoId}'],
  ]
  const people = [...writers, 'beth', 'jerry']
  const asked = people.flatMap((id) =>
    calls.map(([name, route]) => ({
      subject: { type: 'identity', id },
      action: { name },
      resource: { type: 'route', id: route },
    })),
  )
  const expected = people.flatMap((id) => calls.map(([name]) => name === 'GET' || writers.includes(id)))
  t.same(await decisionsOf(owner, asked), expected)
})

t.test('Search: six people and twenty records', async (t) => {
  const owner = await service.signUp()
  const { policy, attribute } = makers(owner)
  const people = [
    ['alice', 'manager', 'Sales'],
    ['bob', 'employee', 'Legal'],
    ['carol', 'contractor', 'Legal'],
    ['dan', 'manager', 'Finance'],
    ['erin', 'employee', 'Finance'],
    ['felix', 'contractor', 'Accounting'],
  ].map(([id = '', role = '', department = '']) => ({ id, properties: { role, department } }))
  const departments = 'LLLALASLASALSAFLLALA'
  const nameOf: Record<string, string> = { L: 'Legal', A: 'Accounting', S: 'Sales', F: 'Finance' }
  const owners = ['alice', 'bob', 'carol', 'dan', 'erin', 'felix']
  const records = [...departments].map((letter, index) => ({
    id: String(101 + index),
    properties: { department: nameOf[letter], owner: owners[index % 6] },
  }))
  for (const key of ['role', 'department']) await attribute('subject', key)
  for (const key of ['owner']) await attribute('resource', key)
  await attribute('resource', 'department')
  const own = { attribute: 'resource.owner', operator: 'eq', value_from: 'subject.id' }
  const near = { attribute: 'resource.department', operator: 'eq', value_from: 'subject.department' }
  const manager = { attribute: 'subject.role', operator: 'eq', value: 'manager' }
  await policy('View', ['record:view'], { conditions: { any: [own, near, manager] } })
  await policy('Edit', ['record:edit'], { conditions: { any: [own, { all: [near, manager] }] } })
  await policy('Delete', ['record:delete'], { conditions: own })

  const may = (person: (typeof people)[0], verb: string, { properties }: (typeof records)[0]) => {
    const [isOwn, isNear] = [
      properties.owner === person.id,
      properties.department === person.properties.department,
    ]
    const manages = person.properties.role === 'manager'
    if (verb === 'view') return isOwn || isNear || manages
    return isOwn || (verb === 'edit' && isNear && manages)
  }
  const found = async (kind: string, question: object) =>
    (await ask(owner, `search/${kind}`, question)).results.map(({ id, name }: Json) => id ?? name)
  const verbs = ['delete', 'edit', 'view']
  for (const record of records) {
    const resource = { type: 'record', ...record }
    for (const name of verbs) {
      const ids = people.filter((person) => may(person, name, record)).map(({ id }) => id)
      const subject = { type: 'person', candidates: people }
      t.same(await found('subject', { subject, action: { name }, resource }), ids, `${name} ${record.id}`)
    }
    for (const person of people) {
      const subject = { type: 'person', ...person }
      const names = verbs.filter((name) => may(person, name, record))
      t.same(await found('action', { subject, resource }), names, `${person.id} on ${record.id}`)
    }
  }
  for (const person of people)
    for (const name of verbs) {
      const ids = records.filter((record) => may(person, name, record)).map(({ id }) => id)
      const question = {
        subject: { type: 'person', ...person },
        action: { name },
        resource: { type: 'record', candidates: records },
      }
      t.same(await found('resource', question), ids, `${person.id} ${name}`)
    }
})

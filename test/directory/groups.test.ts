import t from 'tap'
import { query } from '../helpers/query.ts'
import type { Json } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect } from '../tenancy/staff.ts'
import { type Directory, openDirectory, scimError } from './open-directory.ts'

const service = await sharedService(t, { workers: false })

const patch = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})
const addUser = async (directory: Directory, userName: string): Promise<string> =>
  (await expect(201, directory.post('/Users', { userName }))).id
const addGroup = async (directory: Directory, displayName: string, ...members: string[]): Promise<Json> =>
  expect(201, directory.post('/Groups', { displayName, members: members.map((value) => ({ value })) }))
const idsOf = async (directory: Directory, { id }: Json): Promise<string[]> => {
  const { members = [] } = await expect(200, directory.get(`/Groups/${id}`))
  return members.map(({ value }: Json) => value)
}

t.test('a group is added, read, replaced and deleted', async (t) => {
  const directory = await openDirectory(service, await service.signUp())
  const [ada, bea] = [await addUser(directory, 'ada'), await addUser(directory, 'bea')]
  const made = await directory.post('/Groups', {
    displayName: 'Crew',
    externalId: 'G-1',
    members: [{ value: ada }],
  })
  t.match(made, {
    status: 201,
    body: {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      displayName: 'Crew',
      externalId: 'G-1',
      members: [{ value: ada, $ref: String }],
      meta: { resourceType: 'Group' },
    },
  })
  const { id, meta } = made.body
  t.equal(made.headers.get('location'), meta.location)
  t.match(await directory.get(`/Users/${ada}`), {
    body: { groups: [{ value: id, display: 'Crew', type: 'direct' }] },
  })
  t.match(await directory.post('/Groups', { displayName: 'CREW' }), scimError(409, 'uniqueness'))
  t.match(await directory.put(`/Groups/${id}`, { displayName: 'Team', members: [{ value: bea }] }), {
    status: 200,
    body: { displayName: 'Team', members: [{ value: bea }] },
  })
  t.match(await directory.put(`/Groups/${id}`, { members: [] }), scimError(400, 'invalidValue'))
  t.match(
    await directory.post('/Groups', { displayName: 'X', members: [{ value: crypto.randomUUID() }] }),
    scimError(400),
  )
  t.equal((await directory.delete(`/Users/${bea}`)).status, 204)
  t.same(await idsOf(directory, { id }), [], 'a User who is deleted is in no group')
  t.equal((await directory.delete(`/Groups/${id}`)).status, 204)
  t.match(await directory.get(`/Groups/${id}`), scimError(404))
})

t.test('Entra and Okta change members by operations of their own', async (t) => {
  const directory = await openDirectory(service, await service.signUp())
  const users = await Promise.all(['ada', 'bea', 'cleo'].map((name) => addUser(directory, name)))
  const [ada, bea, cleo] = users.sort() as [string, string, string]
  const group = await addGroup(directory, 'Crew')
  const at = `/Groups/${group.id}`
  const does = async (left: string[], ...operations: object[]) => {
    t.equal((await directory.patch(at, patch(...operations))).status, 204)
    t.same(await idsOf(directory, group), left, JSON.stringify(operations))
  }
  await does([ada], { op: 'Add', path: 'members', value: [{ value: ada }] })
  await does([ada], { op: 'Add', path: 'members', value: [{ value: ada }] })
  await does([ada, bea, cleo], { op: 'add', value: { members: [{ value: bea }, { value: cleo }] } })
  await does([ada, cleo], { op: 'Remove', path: 'members', value: [{ value: bea }] })
  await does([ada], { op: 'remove', path: `members[value eq "${cleo}"]` })
  await does([bea, cleo], { op: 'replace', path: 'members', value: [{ value: bea }, { value: cleo }] })
  await does([bea, cleo], { op: 'replace', value: { id: group.id, displayName: 'Renamed' } })
  await does([], { op: 'remove', path: 'members' })
  t.match(await directory.get(at), { body: { displayName: 'Renamed' } })
  t.match(
    await directory.patch(at, patch({ op: 'add', path: 'owner', value: 'x' })),
    scimError(400, 'invalidPath'),
  )
  t.match(await directory.patch(at, patch({ op: 'remove' })), scimError(400, 'noTarget'))
})

t.test('groups are filtered by name and member, and shown without members', async (t) => {
  const directory = await openDirectory(service, await service.signUp())
  const ada = await addUser(directory, 'ada')
  const crew = await addGroup(directory, 'Crew', ada)
  await addGroup(directory, 'Guests')
  const found = async (query: string) => {
    const { status, body } = await directory.get(`/Groups?${query}`)
    if (status !== 200) throw new Error(JSON.stringify(body))
    return body.Resources.map(({ displayName }: Json) => displayName)
  }
  const filter = (text: string) => `filter=${encodeURIComponent(text)}`
  t.same(await found(filter('displayName eq "crew"')), ['Crew'])
  t.same(await found(filter(`members.value eq "${ada}"`)), ['Crew'])
  t.same(await found(filter(`members[value eq "${ada}"] and displayName sw "g"`)), [])
  t.same(await found(`${filter(`id eq "${crew.id}"`)}&excludedAttributes=members`), ['Crew'])
  t.same(await found('sortBy=displayName&sortOrder=descending'), ['Guests', 'Crew'])
  t.notOk('members' in (await directory.get(`/Groups/${crew.id}?excludedAttributes=members`)).body)
  const all = (startIndex: number) =>
    directory.post('/.search', { startIndex, count: 2, sortBy: 'displayName' })
  t.match(await all(2), {
    body: { totalResults: 4, Resources: [{ userName: String }, { displayName: 'Crew' }] },
  })
  t.match(await all(4), { body: { totalResults: 4, Resources: [{ displayName: 'Guests' }] } })
  t.match(await directory.get(`/Groups?${filter('owner eq "x"')}`), scimError(400, 'invalidFilter'))
})

t.test('an answer has a bounded number of members', async (t) => {
  const owner = await service.signUp()
  const directory = await openDirectory(service, owner)
  const [crew, guests] = [await addGroup(directory, 'Crew'), await addGroup(directory, 'Guests')]
  for (const { id } of [crew, guests])
    await query(
      service.databases.superuser,
      `insert into directory_group_members (tenant_id, group_id, member_id)
       select '${owner.tenantId}', '${id}', gen_random_uuid() from generate_series(1, 20000)`,
    )
  const tooMany = { ...scimError(400, 'tooMany'), body: { detail: /excludedAttributes=members/ } }
  t.match(await directory.get('/Groups'), tooMany)
  t.match(await directory.post('/.search', {}), tooMany)
  t.match(await directory.post('/.search', { startIndex: 900_000_000 }), { body: { Resources: [] } })
  t.match(await directory.get('/Groups?excludedAttributes=members'), { body: { totalResults: 2 } })
  t.equal((await idsOf(directory, crew)).length, 20_000)
  const names = { members: [], ' members': [] }
  t.match(await directory.post('/Groups', { displayName: 'X', ...names }), scimError(400, 'invalidValue'))
})

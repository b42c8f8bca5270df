import { createClient, keepFresh } from '@bailiwick/client'

const url = process.env.BAILIWICK_URL ?? 'http://localhost:3000'
const notes = `${process.env.NOTES_URL ?? 'http://127.0.0.1:4000'}/notes`
const bailiwick = createClient({ url })

// #region people
/** Registers a person and logs them in. Their client keeps its tokens fresh. */
async function person(name: string) {
  const body = { email: `${name}.${Date.now()}@example.com`, password: 'a quiet harbour of notes' }
  const { id } = await bailiwick.call('POST /auth/register/', { body })
  const answer = await bailiwick.call('POST /auth/login/', { body })
  if ('otp_required' in answer) throw new Error(`${name} needs a second factor`)
  const credentials = keepFresh(answer)
  return { id, credentials, client: bailiwick.as(credentials) }
}

const ada = await person('ada')
const bob = await person('bob')
// #endregion

// #region tenant
const looms = await ada.client.call('POST /tenants/', { body: { name: 'Looms' } })
const path = { id: looms.id }
const switchTo = async ({ client, credentials }: typeof ada) => {
  const { refresh } = credentials.pair
  const body = { tenant_id: looms.id, refresh }
  await credentials.replace(await client.call('POST /auth/switch-tenant/', { body }))
}

await switchTo(ada)
const role = (name: string, permissions: string[]) =>
  ada.client.call('POST /tenants/{id}/roles/', { path, body: { name, permissions } })
await role('Writer', ['note:list', 'note:create', 'note:publish'])
await role('Reader', ['note:read'])
await role('Planner', ['access:evaluate'])
await ada.client.call('POST /policies/', {
  body: {
    name: 'Authors read and delete their own notes',
    effect: 'allow',
    actions: ['note:read', 'note:delete'],
    conditions: { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
  },
})
await ada.client.call('POST /tenants/{id}/members/', { path, body: { user_id: bob.id, roles: ['Writer'] } })
await switchTo(bob)

/** A program of the tenant, with a key. */
async function program(name: string, roles: string[], scopes: string[]) {
  const { id } = await ada.client.call('POST /service-accounts/', { body: { name, roles } })
  const body = { name: 'server 1', scopes }
  return (await ada.client.call('POST /service-accounts/{id}/keys/', { path: { id }, body })).key
}

const planner = await program('Notes', ['Planner'], ['access:evaluate'])
// #endregion

// #region walk
interface Caller {
  credentials: { fresh(): string | Promise<string> }
}

/** Sends a request to the notes service, and prints what came. */
async function show(who: string, { credentials }: Caller, method: string, to = notes, text?: string) {
  const headers = { authorization: `Bearer ${await credentials.fresh()}` }
  const answer = await fetch(to, { method, headers, ...(text !== undefined && { body: text }) })
  const body = await answer.text()
  const count = method === 'GET' && answer.ok ? `, notes: ${JSON.parse(body).length}` : ''
  const shown = new URL(to).pathname.replace(/[0-9a-f-]{36}/, '<id>')
  console.log(`${who} ${method} ${shown} → ${answer.status}${count}`)
  return answer.status === 201 ? `${notes}/${JSON.parse(body).id}` : notes
}

await show('Ada', ada, 'PUT', notes.replace('/notes', '/key'), planner)
const adasNote = await show('Ada', ada, 'POST', notes, 'Buy thread')
const bobsNote = await show('Bob', bob, 'POST', notes, 'Oil the loom')
await show('Ada', ada, 'GET')
await show('Bob', bob, 'GET')
// #endregion

// #region approval
await ada.client.call('POST /attribute-definitions/', {
  body: { category: 'resource', key: 'text', data_type: 'string' },
})
await ada.client.call('POST /policies/', {
  body: {
    name: 'Another person reads what is published',
    effect: 'require_approval',
    actions: ['note:publish'],
    conditions: { attribute: 'resource.text', operator: 'exists' },
  },
})
await show('Bob', bob, 'POST', `${bobsNote}/publish`)
for await (const { id } of ada.client.each('GET /approval-requests/pending/'))
  await ada.client.call('POST /approval-requests/{id}/approve/', { path: { id }, body: {} })
await show('Bob', bob, 'POST', `${bobsNote}/publish`)
await show('Bob', bob, 'POST', `${bobsNote}/publish`)
// #endregion

// #region end
await show('Bob', bob, 'DELETE', adasNote)
await show('Bob', bob, 'DELETE', bobsNote)

const carol = await person('carol')
await show('Carol', carol, 'GET')
await show('Carol', carol, 'DELETE', adasNote)

for await (const member of ada.client.each('GET /tenants/{id}/members/', { path, query: { role: 'Writer' } }))
  await ada.client.call('DELETE /tenants/{id}/members/{mid}/', { path: { ...path, mid: member.id } })
await show('Bob, removed,', bob, 'GET')
const decision = await ada.client.decide({
  subject: { type: 'user', id: bob.id },
  action: { name: 'note:list' },
  resource: { type: 'note', id: 'all' },
})
console.log(`Bob may list notes: ${decision.allowed}, ${decision.reasons[0]?.code}`)

const key = await program('Archive', ['Writer', 'Reader'], ['note:list'])
const archive = { credentials: { fresh: () => key } }
await show('The archive', archive, 'GET')
await show('The archive', archive, 'POST', notes, 'Nothing new')
// #endregion

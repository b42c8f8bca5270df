import { randomUUID } from 'node:crypto'
import {
  type Access,
  bearer,
  type Caller,
  createClient,
  createGuard,
  predicateOf,
  subjectOf,
  tokenVerifier,
} from '@bailiwick/client'
import { koaGuard } from '@bailiwick/client/koa'
import Koa, { type Context } from 'koa'

// #region guard
const url = process.env.BAILIWICK_URL ?? 'http://localhost:3000'
const issuer = process.env.BAILIWICK_ISSUER ?? url
const bailiwick = createClient({ url })
const guard = createGuard({ client: bailiwick, verify: tokenVerifier({ url, issuer }) })
await guard.ready()
// #endregion

// #region notes
interface Note {
  id: string
  owner_id: string
  text: string
  published?: true
}

/** The notes of each tenant. Nothing finds a note without naming the tenant first. */
const notesByTenant = new Map<string, Map<string, Note>>()

function notesOf({ tenant_id: tenantId }: Caller): Map<string, Note> {
  const notes = notesByTenant.get(tenantId) ?? new Map<string, Note>()
  notesByTenant.set(tenantId, notes)
  return notes
}

const callerOf = (ctx: Context) => ctx.state.caller as Caller
const noteOf = (ctx: Context) => notesOf(callerOf(ctx)).get(ctx.path.split('/')[2] ?? '')
// #endregion

// #region access
/** What a request does to which note. Throws 404 for what is not there. */
function accessOf(ctx: Context): Access {
  const list = { action: 'note:list', resource: { type: 'note', id: 'all' } }
  if (ctx.path === '/notes' && ctx.method === 'GET') return list
  if (ctx.path === '/notes' && ctx.method === 'POST')
    return { action: 'note:create', resource: { type: 'note', id: 'new' } }
  if (ctx.path === '/key' && ctx.method === 'PUT')
    return { action: 'note:set_up', resource: { type: 'note', id: 'key' } }
  const note = noteOf(ctx)
  // Publishing asks for itself, because it can need an approval (step 8).
  if (note && ctx.method === 'POST' && ctx.path.endsWith('/publish')) return list
  if (!note || ctx.method !== 'DELETE') return ctx.throw(404)
  return {
    action: 'note:delete',
    resource: { type: 'note', id: note.id, properties: { owner_id: note.owner_id } },
  }
}
// #endregion

// #region list
/** The key with which this service asks in each tenant. An owner brings it. */
const keys = new Map<string, string>()

/** The notes that the caller may read. */
async function readableNotes(ctx: Context): Promise<Note[]> {
  const caller = callerOf(ctx)
  const key = keys.get(caller.tenant_id) ?? ctx.throw(409, 'An owner has to bring a key: PUT /key')
  const plan = await bailiwick.as(bearer(key)).plan({
    subject: subjectOf(caller),
    action: { name: 'note:read' },
    resource: { type: 'note' },
  })
  return [...notesOf(caller).values()].filter(predicateOf(plan))
}
// #endregion

// #region publish
/** Publishes a note. A policy can require that another person approves its text first. */
async function publish(ctx: Context, note: Note): Promise<void> {
  const [, token = ''] = ctx.get('authorization').split(' ')
  const client = bailiwick.as(bearer(token))
  const question = {
    subject: subjectOf(callerOf(ctx)),
    action: { name: 'note:publish' },
    resource: { type: 'note', id: note.id, properties: { text: note.text } },
  }
  const { effect, unmet, approval, approval_request } = await client.decide(question)
  if (approval) {
    const { id } = await client.approvals.request({ ...question, message: 'For the web site' })
    ctx.status = 202
    ctx.body = { approval_request: id }
    return
  }
  if (effect !== 'allow' || unmet.length > 0) return ctx.throw(403)
  if (approval_request) await client.approvals.consume(approval_request.id, `publish ${note.id}`)
  note.published = true
  ctx.status = 204
}
// #endregion

// #region app
const app = new Koa()
app.use(koaGuard(guard, accessOf))
app.use(async (ctx) => {
  const caller = callerOf(ctx)
  const notes = notesOf(caller)
  const note = noteOf(ctx)
  if (ctx.method === 'GET') {
    ctx.body = await readableNotes(ctx)
  } else if (ctx.method === 'PUT') {
    keys.set(caller.tenant_id, await textOf(ctx))
    ctx.status = 204
  } else if (ctx.method === 'DELETE') {
    notes.delete(note?.id ?? '')
    ctx.status = 204
  } else if (note) {
    await publish(ctx, note)
  } else {
    const made = { id: randomUUID(), owner_id: caller.sub, text: await textOf(ctx) }
    notes.set(made.id, made)
    ctx.status = 201
    ctx.body = made
  }
})

async function textOf(ctx: Context): Promise<string> {
  let text = ''
  for await (const chunk of ctx.req) {
    text += chunk
    if (text.length > 10_000) ctx.throw(413)
  }
  return text
}

const server = app.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`Notes listens on http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
})
// #endregion

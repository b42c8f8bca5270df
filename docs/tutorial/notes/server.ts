import { randomUUID } from 'node:crypto'
import { type Access, type Caller, createClient, createGuard, tokenVerifier } from '@bailiwick/client'
import { koaGuard } from '@bailiwick/client/koa'
import Koa, { type Context } from 'koa'

// #region guard
const url = process.env.BAILIWICK_URL ?? 'http://localhost:3000'
const issuer = process.env.BAILIWICK_ISSUER ?? url
const guard = createGuard({ client: createClient({ url }), verify: tokenVerifier({ url, issuer }) })
await guard.ready()
// #endregion

// #region notes
interface Note {
  id: string
  owner_id: string
  text: string
}

/** The notes of each tenant. Nothing finds a note without naming the tenant first. */
const notesByTenant = new Map<string, Map<string, Note>>()

function notesOf({ tenant_id: tenantId }: Caller): Map<string, Note> {
  const notes = notesByTenant.get(tenantId) ?? new Map<string, Note>()
  notesByTenant.set(tenantId, notes)
  return notes
}

const callerOf = (ctx: Context) => ctx.state.caller as Caller
const noteOf = (ctx: Context) => notesOf(callerOf(ctx)).get(ctx.path.slice('/notes/'.length))
// #endregion

// #region access
/** What a request does to which note. Throws 404 for what is not there. */
function accessOf(ctx: Context): Access {
  if (ctx.path === '/notes' && ctx.method === 'GET')
    return { action: 'note:list', resource: { type: 'note', id: 'all' } }
  if (ctx.path === '/notes' && ctx.method === 'POST')
    return { action: 'note:create', resource: { type: 'note', id: 'new' } }
  const note = noteOf(ctx)
  if (!note || ctx.method !== 'DELETE') return ctx.throw(404)
  return {
    action: 'note:delete',
    resource: { type: 'note', id: note.id, properties: { owner_id: note.owner_id } },
  }
}
// #endregion

// #region app
const app = new Koa()
app.use(koaGuard(guard, accessOf))
app.use(async (ctx) => {
  const caller = callerOf(ctx)
  const notes = notesOf(caller)
  if (ctx.method === 'GET') {
    ctx.body = [...notes.values()]
  } else if (ctx.method === 'POST') {
    const note = { id: randomUUID(), owner_id: caller.sub, text: await textOf(ctx) }
    notes.set(note.id, note)
    ctx.status = 201
    ctx.body = note
  } else {
    notes.delete(noteOf(ctx)?.id ?? '')
    ctx.status = 204
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

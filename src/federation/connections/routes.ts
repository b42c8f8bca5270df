import { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf, together, uncounted, uncountedPageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { changesOnly } from '../../request/body/changes-only.ts'
import { pathId } from '../../request/path-id.ts'
import { type LoadTarget, overtaken, type Route, route, type Target } from '../../request/route.ts'
import { connectionChange, newConnection, withoutSecret } from './connection-schemas.ts'
import { createConnection } from './create-connection.ts'
import { removeConnection } from './delete-connection.ts'
import { readIdentityProvider } from './identity-provider.ts'
import { connectionResource, connectionSchema, showConnection } from './show-connection.ts'
import { showSignIn, signInSchema } from './sign-ins/show-sign-in.ts'
import { listSignIns, signInList } from './sign-ins/store.ts'
import { connectionList, countConnections, findConnection, listConnections, lockConnection } from './store.ts'
import { beginTest } from './test-connection.ts'
import { readChange, updateConnection } from './update-connection.ts'

const tag = 'Connections'
const all = '/api/v1/connections'
const one = `${all}/:id`

const connections = (deps: Deps) =>
  listing(deps, {
    path: all,
    list: connectionList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listConnections(read, tenantId, page), countConnections(read, tenantId, page)),
    show: showConnection(deps),
  })

const signIns = (deps: Deps) =>
  listing(deps, {
    path: `${one}/sign-ins`,
    list: signInList,
    rows: (read, { caller: { tenantId }, params }, page) =>
      uncounted(listSignIns(read, { tenantId, id: pathId(params.id) }, page)),
    show: showSignIn(deps),
  })

const keyOf = ({ caller, params }: LoadTarget | Target) => ({
  tenantId: caller.tenantId,
  id: pathId(params.id),
})
const lockedConnection = (tx: Tx, target: Target) => lockConnection(tx, keyOf(target))

export const connectionRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'connection:list',
    readAction: 'connection:read',
    tag,
    summary: "List your tenant's connections to identity providers",
    status: 200,
    answer: pageOf(connectionSchema),
    ...connections(deps),
  }),
  route({
    method: 'POST',
    path: all,
    action: 'connection:create',
    tag,
    summary: 'Connect the identity provider of your organisation',
    description: 'It is a draft, and signs in no one before an owner has tried and activated it.',
    body: newConnection,
    shownBody: withoutSecret,
    status: 201,
    answer: connectionSchema,
    refusals: [409],
    prepare: async ({ caller, body }) =>
      body.kind === 'saml' ? readIdentityProvider(deps, caller.tenantId, body.saml) : null,
    act: async (tx, { caller, body }, _loaded, provider) =>
      showConnection(deps)(await createConnection(tx, deps, caller, { body, provider })),
  }),
  route({
    method: 'GET',
    path: one,
    action: 'connection:read',
    tag,
    summary: 'Read a connection',
    status: 200,
    answer: connectionSchema,
    versioned: true,
    load: (read, target) => findConnection(read, keyOf(target)),
    resource: connectionResource,
    handle: (_input, row) => new Versioned(row.version, showConnection(deps)(row)),
  }),
  route({
    method: 'PATCH',
    path: one,
    action: 'connection:update',
    tag,
    summary: 'Change, activate or disable a connection',
    description:
      'Another issuer, client, entity id, certificate, `metadata_url`, `subject_attribute`, `mapping`, `jit` or `trusts_mfa` makes a draft of it. `status: "active"` takes `connection:activate` and a sign-in of yours that tried it. `disabled` ends the sessions that began by it.',
    body: connectionChange,
    shownBody: withoutSecret,
    status: 200,
    answer: connectionSchema,
    refusals: [409],
    versioned: true,
    load: lockedConnection,
    resource: connectionResource,
    takesAway: ({ body }) => changesOnly(body, { status: 'disabled' }),
    prepare: async ({ caller, body }, row) => readChange(deps, caller, row, body),
    async act(tx, input, { version }, provider) {
      const row = await lockedConnection(tx, input)
      if (row?.version !== version) return overtaken
      return showConnection(deps)(await updateConnection(tx, deps, input.caller, row, { ...input, provider }))
    },
  }),
  route({
    method: 'POST',
    path: `${one}/test`,
    action: 'connection:test',
    tag,
    summary: 'Begin a sign-in that tries a connection',
    description:
      'Open `url` in a browser within 10 minutes, and sign in at the provider. The page at the end shows what the provider says of you, or what is wrong. No session begins.',
    status: 200,
    answer: z.object({ url: z.url() }),
    refusals: [409],
    loadsByKeys: true,
    load: (read, target) => findConnection(read, keyOf(target)),
    resource: connectionResource,
    handle: async ({ caller }, { id }) => ({ url: await beginTest(deps, caller, id) }),
  }),
  route({
    method: 'GET',
    path: `${one}/sign-ins`,
    action: 'connection:read',
    tag,
    summary: 'List the last sign-ins by a connection, newest first',
    description: 'The newest 50 sign-ins and the newest 50 refusals of the last 30 days, and why.',
    query: signInList.query,
    status: 200,
    answer: uncountedPageOf(signInSchema),
    load: (read, target) => together(findConnection(read, keyOf(target)), signIns(deps).load(read, target)),
    resource: ({ found }) => connectionResource(found),
    handle: (input, { page }) => signIns(deps).handle(input, page),
  }),
  route({
    method: 'DELETE',
    path: one,
    action: 'connection:delete',
    tag,
    summary: 'Delete a connection',
    description: 'Sessions that began by it end, also those of applications.',
    status: 204,
    answer: null,
    versioned: true,
    load: lockedConnection,
    resource: connectionResource,
    act: (tx, { caller, ifMatch }, row) => removeConnection(tx, deps, caller, row, ifMatch),
  }),
]

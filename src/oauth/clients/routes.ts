import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf, together, uncounted, uncountedPageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { changesOnly } from '../../request/body/changes-only.ts'
import { pathId } from '../../request/path-id.ts'
import { type LoadTarget, type Route, route, type Target } from '../../request/route.ts'
import { logoutSchema, showLogout } from '../logouts/logout-schemas.ts'
import { listLogouts, logoutList } from '../logouts/store.ts'
import { addSecret, removeSecret } from './change-secrets.ts'
import { checkedClientId, pathClient } from './client-id.ts'
import {
  clientChange,
  clientResource,
  clientSchema,
  newClient,
  newSecretSchema,
  secretSchema,
  showClient,
  showSecret,
} from './client-schemas.ts'
import { createClient } from './create-client.ts'
import { removeClient } from './delete-client.ts'
import { clientList, countClients, findClient, listClients, listSecrets, lockClient } from './store.ts'
import { updateClient } from './update-client.ts'

const tag = 'Applications'
const all = '/api/v1/oauth-clients'
const one = `${all}/:id`

const clients = (deps: Deps) =>
  listing(deps, {
    path: all,
    list: clientList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listClients(read, tenantId, page), countClients(read, tenantId, page)),
    show: showClient,
  })

const logouts = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/oauth-clients/:id/logouts',
    readId: checkedClientId,
    list: logoutList,
    rows: (read, { caller, params }, page) =>
      uncounted(listLogouts(read, pathClient(caller.tenantId, params.id), page)),
    show: showLogout,
  })

const keyOf = ({ caller, params }: LoadTarget | Target) => pathClient(caller.tenantId, params.id)
const loadClient = (read: Read, target: LoadTarget) => findClient(read, keyOf(target))
const lockedClient = (tx: Tx, target: Target) => lockClient(tx, keyOf(target))

export const clientRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'oauth_client:list',
    readAction: 'oauth_client:read',
    tag,
    summary: 'List the applications that sign people of your tenant in',
    status: 200,
    answer: pageOf(clientSchema),
    ...clients(deps),
  }),
  route({
    method: 'POST',
    path: all,
    action: 'oauth_client:create',
    tag,
    summary: 'Register an application for OpenID Connect',
    description:
      'What you leave out is as the kind needs it: a `web` application has a secret, `spa` and `native` ones use PKCE. Owners alone set `first_party`, and the permissions among `scopes` are at most yours.',
    body: newClient,
    status: 201,
    answer: clientSchema,
    refusals: [409],
    act: async (tx, { caller, body }) => showClient(await createClient(tx, deps, caller, body)),
  }),
  route({
    method: 'GET',
    path: one,
    action: 'oauth_client:read',
    tag,
    summary: 'Read an application',
    status: 200,
    answer: clientSchema,
    versioned: true,
    load: loadClient,
    resource: clientResource,
    handle: (_input, row) => new Versioned(row.version, showClient(row)),
  }),
  route({
    method: 'PATCH',
    path: one,
    action: 'oauth_client:update',
    tag,
    summary: 'Change or disable an application',
    description:
      'Takes effect at its next request. Lists replace the previous ones. Other redirect URIs, keys or scopes void the consents of people, and other redirect URIs or keys by someone who is no owner end `first_party`.',
    body: clientChange,
    status: 200,
    answer: clientSchema,
    versioned: true,
    load: lockedClient,
    resource: clientResource,
    takesAway: ({ body }) => changesOnly(body, { is_active: false }),
    act: async (tx, input, client) => showClient(await updateClient(tx, deps, input.caller, client, input)),
  }),
  route({
    method: 'DELETE',
    path: one,
    action: 'oauth_client:delete',
    tag,
    summary: 'Delete an application with its secrets',
    description: 'Its tokens are refused from the next request on.',
    status: 204,
    answer: null,
    versioned: true,
    load: lockedClient,
    resource: clientResource,
    act: (tx, { caller, ifMatch }, client) => removeClient(tx, deps, caller, client, ifMatch),
  }),
  route({
    method: 'GET',
    path: `${one}/secrets`,
    action: 'oauth_client:read',
    tag,
    summary: 'List the secrets of an application',
    status: 200,
    answer: z.object({ results: z.array(secretSchema) }),
    load: (read, target) => together(loadClient(read, target), listSecrets(read, keyOf(target))),
    resource: ({ found }) => clientResource(found),
    handle: (_input, { page }) => ({ results: page.map(showSecret) }),
  }),
  route({
    method: 'POST',
    path: `${one}/secrets`,
    action: 'oauth_client:update',
    tag,
    summary: 'Give an application a secret',
    description:
      'It is shown once. Two can exist at a time: add one, give it to the application, and delete the other. By someone who is no owner it ends `first_party`.',
    status: 201,
    answer: newSecretSchema,
    refusals: [409],
    secret: true,
    load: lockedClient,
    resource: clientResource,
    act: async (tx, { caller }, client) => {
      const made = await addSecret(tx, deps, caller, client)
      return { ...showSecret(made), secret: made.secret }
    },
  }),
  route({
    method: 'DELETE',
    path: `${one}/secrets/:sid`,
    action: 'oauth_client:delete',
    tag,
    summary: 'Delete a secret of an application',
    status: 204,
    answer: null,
    load: lockedClient,
    resource: clientResource,
    act: (tx, { caller, params }, client) => removeSecret(tx, deps, caller, client, pathId(params.sid)),
  }),
  route({
    method: 'GET',
    path: `${one}/logouts`,
    action: 'oauth_client:read',
    tag,
    summary: 'List what an application was told of sessions that ended, newest first',
    description: 'It is told at its `backchannel_logout_uri` until it answers 200 or 204, for a day at most.',
    query: logoutList.query,
    status: 200,
    answer: uncountedPageOf(logoutSchema),
    load: (read, input) => together(loadClient(read, input), logouts(deps).load(read, input)),
    resource: ({ found }) => clientResource(found),
    handle: (input, { page }) => logouts(deps).handle(input, page),
  }),
]

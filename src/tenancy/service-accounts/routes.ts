import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { changesOnly } from '../../request/body/changes-only.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { accountList, countAccounts, findAccount, listAccounts } from '../members/account-store.ts'
import { accountChange, accountResource, accountSchema, newAccount, showAccount } from './account-schemas.ts'
import { createAccount } from './create-account.ts'
import { deleteAccount } from './delete-account.ts'
import { lockAccount } from './lock-account.ts'
import { updateAccount } from './update-account.ts'

const tag = 'Service accounts'

const accounts = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/service-accounts',
    list: accountList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listAccounts(read, tenantId, page), countAccounts(read, tenantId, page)),
    show: showAccount,
  })

/** Loads the service account of the path and locks it. */
const lockedAccount = (tx: Tx, { caller, params }: Target) =>
  lockAccount(tx, caller.tenantId, pathId(params.id))

export const serviceAccountRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'service_account:list',
    readAction: 'service_account:read',
    tag,
    summary: 'List the service accounts of your tenant',
    status: 200,
    answer: pageOf(accountSchema),
    ...accounts(deps),
  }),
  route({
    method: 'POST',
    path: '/api/v1/service-accounts',
    action: 'service_account:create',
    tag,
    summary: 'Create a service account',
    description:
      'A member for a program. It cannot be an owner, counts for no quorum of approvals, and signs in with keys only.',
    body: newAccount,
    status: 201,
    answer: accountSchema,
    refusals: [409],
    act: async (tx, { caller, body }) => showAccount(await createAccount(tx, deps, caller, body)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/service-accounts/:id',
    action: 'service_account:read',
    tag,
    summary: 'Read a service account',
    status: 200,
    answer: accountSchema,
    versioned: true,
    load: (read, { caller, params }) => findAccount(read, caller.tenantId, pathId(params.id)),
    resource: accountResource,
    handle: (_input, row) => new Versioned(row.version, showAccount(row)),
  }),
  route({
    method: 'PATCH',
    path: '/api/v1/service-accounts/:id',
    action: 'service_account:update',
    tag,
    summary: 'Change or disable a service account',
    description:
      'Takes effect at its next request. Roles and attributes replace the previous ones. The keys of a disabled account are refused until it is active again.',
    body: accountChange,
    status: 200,
    answer: accountSchema,
    versioned: true,
    load: lockedAccount,
    resource: accountResource,
    takesAway: ({ body }) => changesOnly(body, { status: 'disabled' }),
    act: async (tx, input, account) =>
      showAccount(await updateAccount(tx, deps, input.caller, account, input)),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/service-accounts/:id',
    action: 'service_account:delete',
    tag,
    summary: 'Delete a service account with its keys',
    status: 204,
    answer: null,
    versioned: true,
    load: lockedAccount,
    resource: accountResource,
    act: (tx, { caller, ifMatch }, account) => deleteAccount(tx, deps, caller, account, ifMatch),
  }),
]

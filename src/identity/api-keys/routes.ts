import { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf, together } from '../../lists/lists.ts'
import type { Caller } from '../../request/caller.ts'
import { withoutPassword } from '../../request/guarded-call.ts'
import { pathId } from '../../request/path-id.ts'
import { overtaken, type Route, route, type Target } from '../../request/route.ts'
import { findAccount } from '../../tenancy/members/account-store.ts'
import { misspeltPermissions } from '../../tenancy/roles/misspelt-permissions.ts'
import { accountResource } from '../../tenancy/service-accounts/account-schemas.ts'
import { lockHeldAccount } from '../../tenancy/service-accounts/lock-account.ts'
import { assertCanEnrol } from '../otp/enrolment.ts'
import { keyReportUses } from '../rate-limits/limits.ts'
import { holdSignIn } from '../sessions/store.ts'
import { createKey, keysWanted } from './create-key.ts'
import { deleteKey } from './delete-key.ts'
import { keyResource, keySchema, newKey, newKeySchema, rotation, showKey } from './key-schemas.ts'
import { revokeLeakedKey } from './revoke-leaked-key.ts'
import { rotateKey } from './rotate-key.ts'
import {
  countKeys,
  findKey,
  type KeyHolder,
  type KeysWanted,
  keyList,
  listKeys,
  lockHolder,
} from './store.ts'

const tag = 'API keys'
const own = '/api/v1/users/me/keys'
const ofAccount = '/api/v1/service-accounts/:id/keys'

/** Whose keys a route is about, and how it finds them. */
interface Owner {
  wanted(target: { caller: { tenantId: string; userId: string }; params: Record<string, string> }): KeysWanted
  /** Locks the holder; null if there is none. */
  lock(tx: Tx, target: Target): Promise<KeyHolder | null>
}

const person: Owner = {
  wanted: ({ caller: { tenantId, userId } }) => ({ tenantId, userId }),
  async lock(tx, { caller }) {
    await holdSignIn(tx, caller)
    return lockHolder(tx, caller.tenantId, caller.userId)
  },
}

const account: Owner = {
  wanted: ({ caller: { tenantId }, params }) => ({ tenantId, accountId: pathId(params.id) }),
  async lock(tx, { caller, params }) {
    const found = await lockHeldAccount(tx, caller, pathId(params.id))
    return found && { tenantId: caller.tenantId, membershipId: found.id, userId: null }
  },
}

const keys = (deps: Deps, path: string, { wanted }: Owner) =>
  listing(deps, {
    path,
    list: keyList,
    rows: (read, target, page) =>
      pageAndCount(listKeys(read, wanted(target), page), countKeys(read, wanted(target), page)),
    show: showKey,
  })

const fresh =
  (deps: Deps) =>
  ({ caller, body }: { caller: Caller; body: { current_password?: string | undefined } }) =>
    assertCanEnrol(deps, caller, { now: deps.clock(), currentPassword: body.current_password })

/** The routes that both kinds of holders have. */
function routesOf(deps: Deps, path: string, owner: Owner): Route[] {
  const ofPerson = owner === person
  const loadKey = (tx: Tx, target: Target) => findKey(tx, owner.wanted(target), pathId(target.params.kid))
  return [
    route({
      method: 'POST',
      path: `${path}/:kid/rotate`,
      action: 'api_key:rotate',
      ofPerson,
      tag,
      summary: 'Replace a key by a new one',
      description:
        'The new key has the name and scopes of the old one, and is valid for as long. The old one works for `overlap` seconds more. Needs a sign-in or a second factor within the last 10 minutes, or `current_password`.',
      body: rotation,
      status: 201,
      answer: newKeySchema,
      refusals: [409],
      secret: true,
      load: loadKey,
      resource: keyResource,
      prepare: fresh(deps),
      async act(tx, input) {
        const holder = await owner.lock(tx, input)
        const key = holder && (await findKey(tx, keysWanted(holder), pathId(input.params.kid)))
        if (!key) return overtaken
        const made = await rotateKey(tx, deps, input.caller, { holder, key, overlap: input.body.overlap })
        return { ...showKey(made), key: made.key }
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/:kid`,
      action: 'api_key:delete',
      ofPerson,
      tag,
      summary: 'Revoke a key',
      description: 'It is refused from the next request on.',
      status: 204,
      answer: null,
      load: loadKey,
      resource: keyResource,
      act: (tx, { caller }, key) => deleteKey(tx, deps, caller, key),
    }),
  ]
}

const creation = {
  tag,
  body: newKey,
  status: 201 as const,
  answer: newKeySchema,
  refusals: [409],
  secret: true,
}

/** Creates a key for the holder of the route. */
const create =
  (deps: Deps, owner: Owner) => async (tx: Tx, input: Target & { body: z.output<typeof newKey> }) => {
    const holder = await owner.lock(tx, input)
    if (!holder) return overtaken
    const made = await createKey(tx, deps, input.caller, holder, input.body)
    const permissions = made.scopes ?? []
    const warnings = await misspeltPermissions(tx, input.caller, { permissions, list: '/scopes' })
    return { ...showKey(made), key: made.key, warnings }
  }

export const apiKeyRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'api_key:list_own',
    tag,
    summary: 'List your own keys in this tenant',
    status: 200,
    answer: pageOf(keySchema),
    ...keys(deps, own, person),
  }),
  route({
    method: 'POST',
    path: own,
    action: 'api_key:create',
    ofPerson: true,
    summary: 'Create a key of your own for this tenant',
    description:
      'It can do what you can, within its scopes. Needs a sign-in or a second factor within the last 10 minutes, or `current_password`.',
    ...creation,
    prepare: fresh(deps),
    act: create(deps, person),
  }),
  ...routesOf(deps, own, person),
  route({
    method: 'GET',
    path: ofAccount,
    action: 'service_account:read',
    sessionOnly: true,
    tag,
    summary: 'List the keys of a service account',
    query: keyList.query,
    status: 200,
    answer: pageOf(keySchema),
    load: (read, input) =>
      together(
        findAccount(read, input.caller.tenantId, pathId(input.params.id)),
        keys(deps, ofAccount, account).load(read, input),
      ),
    resource: ({ found }) => accountResource(found),
    handle: (input, { page }) => keys(deps, ofAccount, account).handle(input, page),
  }),
  route({
    method: 'POST',
    path: ofAccount,
    action: 'api_key:create',
    summary: 'Create a key of a service account',
    description:
      'It can do what the account can, within its scopes. Needs a sign-in or a second factor within the last 10 minutes, or `current_password`, and every permission of the account.',
    ...creation,
    load: (tx, { caller, params }) => findAccount(tx, caller.tenantId, pathId(params.id)),
    resource: ({ id }, { body }) => ({
      type: 'api_key',
      id: null,
      ownerId: null,
      fields: { ...withoutPassword(body), service_account_id: id },
    }),
    prepare: fresh(deps),
    act: create(deps, account),
  }),
  ...routesOf(deps, ofAccount, account),
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/keys/revoke',
    tag,
    summary: 'Revoke a key that you found',
    description:
      'For anybody who finds a key where it should not be, and for secret scanners. The owners of its tenant and its person are told by mail. The answer is the same for any text.',
    body: z.object({ key: z.string('Give the key as text.').min(1, 'Give the key that you found.') }),
    status: 204,
    answer: null,
    refusals: [429],
    before: ({ ip }) => deps.limiters.take(keyReportUses(ip)),
    handle: ({ requestInfo, body }) => revokeLeakedKey(deps, requestInfo, body.key),
  }),
]

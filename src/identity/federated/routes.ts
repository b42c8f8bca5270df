import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { mailedLink } from '../../request/mailed-link.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route } from '../../request/route.ts'
import { identitySchema, toJsonIdentity } from './identity-schemas.ts'
import { countIdentities, identityList, listIdentities } from './list-store.ts'
import { undoLink } from './undo-link.ts'
import { unlinkIdentity } from './unlink-identity.ts'

const identities = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/users/me/identities',
    list: identityList,
    rows: (read, { caller: { userId } }, page) =>
      pageAndCount(listIdentities(read, userId, page), countIdentities(read, userId, page)),
    show: (row) => toJsonIdentity(row, deps.config.SOCIAL_PROVIDERS),
  })

export const identityRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'identity:list',
    tag: 'Users',
    summary: 'List your accounts at other providers',
    status: 200,
    answer: pageOf(identitySchema),
    ...identities(deps),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/users/me/identities/:id',
    action: 'identity:delete',
    tag: 'Users',
    summary: 'Unlink an account at another provider',
    description:
      'It takes a sign-in or a second factor of the last 10 minutes. 409 `last_factor`: you have nothing else to sign in with. A password, a passkey, another linked account and, where they are on, links by mail count.',
    status: 204,
    answer: null,
    refusals: [409],
    handle: ({ caller, params }) => unlinkIdentity(deps, caller, pathId(params.id)),
  }),
  route({
    path: '/api/v1/auth/identities/undo',
    tag: 'Sign-in',
    summary: 'Unlink an account at another provider with the token from the mail',
    description: 'Ends all sessions of the person, and revokes their keys.',
    ...mailedLink('Identity unlinked', (requestInfo, token) => undoLink(deps, requestInfo, token)),
  }),
]

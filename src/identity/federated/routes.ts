import type { Deps } from '../../deps.ts'
import { mailedLink } from '../../request/mailed-link.ts'
import { type Route, route } from '../../request/route.ts'
import { undoLink } from './undo-link.ts'

export const identityRoutes = (deps: Deps): Route[] => [
  route({
    path: '/api/v1/auth/identities/undo',
    tag: 'Sign-in',
    summary: 'Unlink an account at another provider with the token from the mail',
    description: 'Ends all sessions of the person, and revokes their keys.',
    ...mailedLink('Identity unlinked', (requestInfo, token) => undoLink(deps, requestInfo, token)),
  }),
]

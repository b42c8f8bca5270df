import { wildcardOf } from '../catalogue/actions.ts'
import type { SessionFacts } from './query.ts'

/** Of a key and of an application also whether the scopes cover the action. */
export function sessionInput({ token, scopes = null }: SessionFacts, action: string) {
  const names = (scope: string) => scope === action || scope === wildcardOf(action)
  if (token === 'key') return { token, in_scope: scopes === null || scopes.some(names) }
  // An application that may know who a person is reads their profile.
  if (token === 'oauth')
    return {
      token,
      in_scope: scopes?.some(names) || (action === 'profile:read' && scopes?.includes('openid')) || false,
    }
  return { token }
}

import { ApiError } from '../../errors.ts'
import type { RequestContext } from '../request-context.ts'

/**
 * A refusal that asks for a sign-in of just now gets a `url`, where a session by a connection begins one: at its provider, which
 * is to ask the person.
 */
export function withSignInAgain(error: unknown, request: RequestContext | null, publicUrl: string): unknown {
  const connection = request?.caller.auth.session.connection
  if (!connection || !(error instanceof ApiError)) return error
  if (error.code === 'insufficient_user_authentication' && error.members.acr_values === 'aal1')
    error.members.url = `${publicUrl}/sign-in/with/${connection.id}/?max_age=0`
  return error
}

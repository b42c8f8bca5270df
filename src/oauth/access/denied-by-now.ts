import { randomUUIDv7 } from 'node:crypto'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import type { DecisionQuery } from '../../policy-engine/evaluate/query.ts'
import type { AuthContext } from '../../request/caller.ts'
import { ownOf } from '../client-metadata.ts'
import type { OidcContext, OwnGrant } from '../provider-types.ts'
import { accessOf, accessResource } from './decide-access.ts'
import { recordDenial } from './record-denial.ts'

/**
 * Whether the policies deny the use of a grant by now. Its gates and step-ups were met when it was given. The person is away, so
 * address, browser and what they had shown are those of the authorization.
 */
export async function isDeniedByNow(
  deps: PageDeps,
  ctx: OidcContext,
  client: OidcContext['oidc']['client'],
  { user, tenant, membership }: AuthContext,
  grant: OwnGrant,
): Promise<boolean> {
  const tenantId = grant.auth.tenantId ?? ownOf(client).tenantId
  const { sessionId: id, acr, amr, authTime, ip, userAgent, redirectHost } = grant.auth
  const policies = await deps.policyCache.load({ tenantId, userId: user.id }, tenant?.policyRevision ?? 0)
  const resources = Object.keys(grant.resources ?? {})
  const granted = [grant.getOIDCScope(), ...resources.map((one) => grant.getResourceScope(one))]
  const scopes = [...new Set(granted.flatMap((one) => one.split(' ').filter(Boolean)))]
  const asked = accessOf(client, { redirectHost, resources, scopes })
  const resource = { tenantId, ownerId: null, ...accessResource(asked) }
  const action = 'oauth:authorize'
  const now = deps.clock()
  const query: DecisionQuery = {
    action,
    phase: 'resource',
    resource,
    now,
    slice: policies.slice(resource.type, action, now),
    requestId: ctx.state.requestInfo.requestId,
    subject: {
      type: user.type,
      id: user.id,
      email: user.email,
      emailVerified: user.emailVerified,
      tenantId,
      membership,
      session: { id, acr, amr, authTime: authTime * 1000, token: 'access' },
    },
    tenant,
    environment: { ip, userAgent },
  }
  const decision = deps.access.decide(query)
  if (decision.effect !== 'deny') return false
  const decisionId = randomUUIDv7()
  await deps.decisionLog.record({ id: decisionId, query, decision, kind: 'request', keep: 'always' })
  // Userinfo and introspection can be asked at every call of the application.
  if (ctx.oidc.route === 'token') await recordDenial(deps, ctx, { userId: user.id, decisionId })
  return true
}

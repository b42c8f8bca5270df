import { randomUUIDv7 } from 'node:crypto'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import type { DecisionQuery } from '../../policy-engine/evaluate/query.ts'
import { stepUpDue } from '../../request/answer/obligations.ts'
import type { AuthContext } from '../../request/caller.ts'
import { ownOf } from '../client-metadata.ts'
import type { GrantAuth, OidcContext, OwnGrant } from '../provider-types.ts'
import { accessOf, accessResource } from './decide-access.ts'
import { recordDenial } from './record-denial.ts'

/**
 * Whether the policies deny the use of a grant by now. Its gates and step-ups were met when it was given. The person is away, so
 * address, browser and what they had shown are those of the authorization.
 */
export async function isDeniedByNow(
  deps: PageDeps,
  ctx: OidcContext,
  client: LibraryClient,
  person: AuthContext,
  grant: OwnGrant,
): Promise<boolean> {
  const resources = Object.keys(grant.resources ?? {})
  const granted = [grant.getOIDCScope(), ...resources.map((one) => grant.getResourceScope(one))]
  const scopes = [...new Set(granted.flatMap((one) => one.split(' ').filter(Boolean)))]
  return isDenied(deps, ctx, client, person, { ...grant.auth, resources, scopes, hasMet: true })
}

type LibraryClient = OidcContext['oidc']['client']

/** What is asked of the policies while no person is there, and whether gates and step-ups were met before. */
interface AskedAway
  extends Pick<
    GrantAuth,
    'tenantId' | 'sessionId' | 'acr' | 'amr' | 'authTime' | 'ip' | 'userAgent' | 'redirectHost'
  > {
  resources: string[]
  scopes: string[]
  hasMet: boolean
}

/** Whether the policies deny an application to its person, or to the service account of a machine. */
export async function isDenied(
  deps: PageDeps,
  ctx: OidcContext,
  client: LibraryClient,
  { user, tenant, membership, session }: AuthContext,
  { resources, scopes, hasMet, ...auth }: AskedAway,
): Promise<boolean> {
  const tenantId = auth.tenantId ?? ownOf(client).tenantId
  const { sessionId: id, acr, amr, authTime, ip, userAgent, redirectHost } = auth
  const policies = await deps.policyCache.load({ tenantId, userId: user.id }, tenant?.policyRevision ?? 0)
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
  const isMet = hasMet || (decision.effect === 'allow' && !stepUpDue(decision.obligations, session, now))
  if (decision.effect !== 'deny' && isMet) return false
  const decisionId = randomUUIDv7()
  await deps.decisionLog.record({ id: decisionId, query, decision, kind: 'request', keep: 'always' })
  // Userinfo and introspection can be asked at every call of the application.
  if (ctx.oidc.route === 'token') await recordDenial(deps, ctx, { userId: user.id, decisionId })
  return true
}

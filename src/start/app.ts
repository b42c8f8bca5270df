import Koa from 'koa'
import { approvalRoutes } from '../authorization/approvals/routes.ts'
import { attributeRoutes } from '../authorization/attributes/routes.ts'
import { decisionRoutes } from '../authorization/decisions/routes.ts'
import { evaluationRoutes } from '../authorization/evaluation/routes.ts'
import { permissionRoutes } from '../authorization/permissions/routes.ts'
import { planRoutes } from '../authorization/plan/routes.ts'
import { policyRoutes } from '../authorization/policies/routes.ts'
import { resourceRoutes } from '../authorization/resources/routes.ts'
import { searchRoutes } from '../authorization/search/routes.ts'
import type { Deps } from '../deps.ts'
import { directoryLogRoutes } from '../directory/log/routes.ts'
import { directoryRoutes } from '../directory/overview/routes.ts'
import { directoryRuleRoutes } from '../directory/rules/routes.ts'
import { scim } from '../directory/scim.ts'
import { activityRoutes } from '../events/activity/routes.ts'
import { auditLogRoutes } from '../events/audit-log/routes.ts'
import { feedRoutes } from '../events/feed/routes.ts'
import { webhookRoutes } from '../events/webhooks/routes.ts'
import { connectionRoutes } from '../federation/connections/routes.ts'
import { providerPages } from '../federation/pages/provider-pages.ts'
import { samlRoutes } from '../federation/saml/routes.ts'
import { cors, refuseInvalidRequests, securityHeaders } from '../http/headers.ts'
import { answerErrors } from '../http/problem.ts'
import { requestInfoReader } from '../http/request-info.ts'
import { logRequests, logUnanswered } from '../http/request-log.ts'
import { traceRequests } from '../http/trace-requests.ts'
import { apiKeyRoutes } from '../identity/api-keys/routes.ts'
import { acceptRoutes } from '../identity/auth/accept-routes.ts'
import { authRoutes } from '../identity/auth/routes.ts'
import { emailVerificationRoutes } from '../identity/email-verification/routes.ts'
import { identityRoutes } from '../identity/federated/routes.ts'
import { impersonationRoutes } from '../identity/impersonation/routes.ts'
import { keyRoutes } from '../identity/keys/routes.ts'
import { magicLinkRoutes } from '../identity/magic-links/routes.ts'
import { otpRoutes } from '../identity/otp/routes.ts'
import { passkeyRoutes } from '../identity/passkeys/routes.ts'
import { authContextLoader } from '../identity/sessions/load-auth-context.ts'
import { sessionRoutes } from '../identity/sessions/routes.ts'
import { tokenIssuer } from '../identity/sign-in/issue-tokens.ts'
import { userRoutes } from '../identity/users/routes.ts'
import { applicationFeedRoutes } from '../installation/feed/routes.ts'
import { applicationRoutes } from '../installation/manifests/routes.ts'
import { clientRoutes } from '../oauth/clients/routes.ts'
import { grantRoutes } from '../oauth/grants/routes.ts'
import { oauthResourceRoutes } from '../oauth/resources/routes.ts'
import { consentPages, openidConnect, requestFinder } from '../oauth/routes.ts'
import { trustRoutes } from '../oauth/trusts/routes.ts'
import { enterConsole } from '../pages/console/enter.ts'
import { consolePages } from '../pages/console/pages.ts'
import { consoleRoutes } from '../pages/console/routes.ts'
import { docsPages } from '../pages/docs/api-docs.ts'
import { openapiDocument } from '../pages/docs/openapi.ts'
import { healthRoutes, type Readiness } from '../pages/health.ts'
import { callsOf } from '../pages/sign-in/calls.ts'
import { signInPages } from '../pages/sign-in/routes.ts'
import { welcomePage } from '../pages/welcome.ts'
import { measureRequests, metricsPage } from '../request/measure-requests.ts'
import { assertDecided, dispatch } from '../request/registry.ts'
import { requestPath } from '../request/request-path.ts'
import type { Route } from '../request/route.ts'
import { version } from '../settings/version.ts'
import { departmentRoutes } from '../tenancy/departments/routes.ts'
import { domainRoutes } from '../tenancy/domains/routes.ts'
import { invitationRoutes } from '../tenancy/invitations/routes.ts'
import { memberRoutes } from '../tenancy/members/routes.ts'
import { roleRoutes } from '../tenancy/roles/routes.ts'
import { serviceAccountRoutes } from '../tenancy/service-accounts/routes.ts'
import { tenantRoutes } from '../tenancy/tenants/routes.ts'
import { mailboxPages } from './development/mailbox.ts'
import { serviceLists, serviceObjects } from './objects.ts'

/** Every route of the API, in matching order. */
export const listRoutes = (deps: Deps, readiness: Readiness): Route[] => [
  ...authRoutes(deps),
  ...acceptRoutes(deps),
  ...sessionRoutes(deps),
  ...emailVerificationRoutes(deps),
  ...magicLinkRoutes(deps),
  ...otpRoutes(deps),
  ...passkeyRoutes(deps),
  ...identityRoutes(deps),
  ...apiKeyRoutes(deps),
  ...userRoutes(deps),
  ...tenantRoutes(deps),
  ...memberRoutes(deps),
  ...permissionRoutes(deps),
  ...impersonationRoutes(deps),
  ...serviceAccountRoutes(deps),
  ...roleRoutes(deps),
  ...departmentRoutes(deps),
  ...invitationRoutes(deps),
  ...connectionRoutes(deps),
  ...domainRoutes(deps),
  ...directoryRoutes(deps),
  ...directoryLogRoutes(deps),
  ...directoryRuleRoutes(deps),
  ...attributeRoutes(deps),
  ...resourceRoutes(deps),
  ...policyRoutes(deps),
  ...approvalRoutes(deps, serviceObjects),
  ...decisionRoutes(deps),
  ...evaluationRoutes(deps, serviceObjects),
  ...searchRoutes(deps, serviceObjects, serviceLists),
  ...planRoutes(deps),
  ...auditLogRoutes(deps),
  ...activityRoutes(deps),
  ...feedRoutes(deps),
  ...webhookRoutes(deps),
  ...clientRoutes(deps),
  ...grantRoutes(deps),
  ...oauthResourceRoutes(deps),
  ...trustRoutes(deps),
  ...applicationRoutes(deps),
  ...applicationFeedRoutes(deps),
  ...keyRoutes(deps),
  ...healthRoutes(readiness),
]

/**
 * The whole service on one port. Throws when a route has no action in the catalogue, so no route is open by mistake.
 */
export function buildApp(deps: Deps, readiness: Readiness): Koa {
  const { config, log } = deps
  const routes = listRoutes(deps, readiness)
  assertDecided(routes)

  const path = {
    ...deps,
    loadAuthContext: authContextLoader(deps),
    tokensOf: tokenIssuer(deps),
    requestOf: requestFinder(deps),
  }
  const pages = {
    ...docsPages(() => openapiDocument(routes, { publicUrl: config.PUBLIC_URL ?? '/', version })),
    ...welcomePage({
      version,
      publicUrl: deps.publicUrl,
      tokenNames: deps.signer.names,
      consoleEnabled: config.CONSOLE_ENABLED,
    }),
    ...(config.production ? {} : { ...mailboxPages(deps), '/metrics': metricsPage(deps.metrics) }),
  }
  const served = [
    ...routes.map((route) => ({ method: route.method, path: route.path, handle: requestPath(path, route) })),
    ...Object.entries(pages).map(([path, handle]) => ({ method: 'GET' as const, path, handle })),
  ]

  const app = new Koa()
  app.on('error', logUnanswered(log))
  if (config.tracing) app.use(traceRequests)
  app.use(measureRequests(deps.metrics))
  const readRequestInfo = requestInfoReader(config.TRUSTED_PROXIES, () =>
    log.warn(
      'X-Forwarded-For arrives, but TRUSTED_PROXIES is not set: visitors behind a proxy share its address and its limits',
    ),
  )
  app.use(logRequests(log, readRequestInfo, !config.production))
  app.use(securityHeaders(config.PUBLIC_URL?.startsWith('https:') ?? false))
  app.use(cors(config.CORS_ORIGINS))
  app.use(answerErrors(log))
  app.use(refuseInvalidRequests)
  const calls = callsOf(path, routes)
  app.use(openidConnect(path, calls))
  app.use(samlRoutes(path))
  app.use(signInPages(path, calls, [...consentPages(path, calls), ...providerPages(path, calls)]))
  if (config.CONSOLE_ENABLED)
    app.use(consoleRoutes(path, routes)).use(enterConsole(path, calls)).use(consolePages(deps))
  app.use(scim(path))
  app.use(dispatch(served))
  return app
}

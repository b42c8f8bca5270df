import { ApiError } from '../errors.ts'
import { bearerTokens, type Credentials, type VerifyDeps } from '../request/verify-token.ts'

/**
 * The keys and tokens of service accounts, which have a limit of calls of their own. 403 for those of people: a directory
 * goes on when a person leaves.
 */
export function directoryKeys(deps: VerifyDeps): Credentials {
  const { callLimits } = deps
  const uncounted = { ...callLimits, assertLeft: () => undefined }
  const tokens = bearerTokens({ ...deps, callLimits: uncounted })
  return {
    ...tokens,
    async verify(http) {
      const claims = await tokens.verify(http)
      http.state.tenantId = claims.tenantId
      if (claims.subjectType !== 'service_account')
        throw new ApiError(
          403,
          'permission_denied',
          'SCIM takes an API key, or a token of a machine, of a service account with the permission scim:provision.',
        )
      const asDirectory = { ...claims, asDirectory: true } as const
      callLimits.assertLeft(asDirectory)
      return asDirectory
    },
  }
}

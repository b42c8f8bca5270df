import type { SocialProvider } from '../../settings/social-providers.ts'
import { type Claims, openIdUpstream, type UpstreamDeps } from '../openid-upstream.ts'
import { type Upstream, UpstreamError } from '../upstream.ts'
import { clientOf } from './client-of.ts'

/** The tenant of all personal accounts. */
const consumers = '9188040d-6c67-4c5b-b112-36a304b66dad'
const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** `xms_edov` is written in each of these ways. */
const yes: readonly unknown[] = [true, 'true', 1, '1']

/**
 * Microsoft, for personal accounts and those of any organisation, or of `tenants`. An administrator there can write any address, so it
 * counts only with `xms_edov`: then the organisation has proved the domain. A person is the tenant and their object in it, `tid.oid`:
 * `sub` is another one for each client.
 */
export function microsoft(deps: UpstreamDeps, provider: SocialProvider & { kind: 'microsoft' }): Upstream {
  const client = clientOf(provider, 'https://login.microsoftonline.com/common/v2.0')
  const tenants = provider.tenants?.map((tenant) =>
    tenant === 'consumers' ? consumers : tenant.toLowerCase(),
  )
  return openIdUpstream(
    deps,
    { ...provider, tenantId: null },
    {
      client: () => ({ ...client, manyTenants: true, withoutUserinfo: true }),
      attribute: 'tid+oid',
      subject(claims) {
        const tid = guidIn(claims, 'tid')
        if (claims.iss !== client.issuer.replace(/[^/]+(?=\/v2\.0$)/, tid))
          throw new UpstreamError(
            'refused',
            `The ID token is of ${String(claims.iss)}, and its tenant is ${tid} (tid).`,
          )
        if (tenants && !tenants.includes(tid))
          throw new UpstreamError('refused', `The tenant ${tid} is not in the tenants of this provider.`)
        return `${tid}.${guidIn(claims, 'oid')}`
      },
      isAuthority: (claims) => claims.tid === consumers || yes.includes(claims.xms_edov),
    },
  )
}

function guidIn(claims: Claims, name: 'tid' | 'oid'): string {
  const value = claims[name]
  if (typeof value === 'string' && guid.test(value)) return value
  throw new UpstreamError('refused', `The ID token has no id in ${name}, which says who a person is.`)
}

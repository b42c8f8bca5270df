import { hash } from 'node:crypto'
import { nilUuid } from '../crypto/uuid.ts'
import { readInTenant } from '../database/executor/read.ts'
import type { Calls, Here, PageDeps } from '../pages/sign-in/calls.ts'
import type { Profile } from '../pages/sign-in/profile.ts'
import { hasSlug } from '../tenancy/tenants/store.ts'
import { type OwnClient, ownOf } from './client-metadata.ts'
import { type ClientKey, isOfManifest } from './clients/client-id.ts'
import type { Library, OidcContext, OwnState } from './provider-types.ts'

// A client of a tenant signs people in to that tenant. One of a manifest does to each: its request names an organization, by the
// parameter, by a scope, or by the ID token of an earlier sign-in; else the person chooses.

const prefix = 'organization:'

/** The client of a request, in the tenant where its person signs in. */
export function ownClient(ctx: OidcContext): OwnClient {
  const own = ownOf(ctx.oidc.client)
  return { ...own, tenantId: (ctx.state.oauth as OwnState).tenantId ?? own.tenantId }
}

/** The id or slug of the organization that a request names; null for none. */
export function organizationIn({ params, entities }: OidcContext['oidc']): string | null {
  const named = params?.organization ?? entities.IdTokenHint?.payload.tenant_id
  return named === undefined ? null : String(named)
}

interface Asked {
  calls: Calls
  library: Library
  ctx: OidcContext
}

/** What the request keeps of a choice: the person to whom the page of the choice was shown. */
interface Choice {
  chooses?: string
}

/** Notes the tenant of a request for a manifest's client, or that its person has to choose one. */
export async function settleTenant(asked: Asked, state: OwnState): Promise<void> {
  if (!isOfManifest(ownOf(asked.ctx.oidc.client).id)) return
  const tenantId = await tenantOf(asked, state.here!)
  if (tenantId === null) state.due = { prompt: 'select_account', page: 'organisation' }
  else state.tenantId = tenantId
}

/**
 * The tenant, or null for a choice. Who came back from that page has chosen the tenant that they are in. Throws `access_denied` for
 * an organization of others.
 */
async function tenantOf({ calls, ctx, library }: Asked, here: Here): Promise<string | null> {
  const { memberships } = (await calls.profile(ctx)) as Profile
  const named = organizationIn(ctx.oidc)
  if (named !== null) {
    const found = memberships.find(({ tenant }) => tenant.id === named || tenant.slug === named)
    if (!found) throw new library.errors.AccessDenied('The person is no member of this organization')
    return found.tenant.id
  }
  if (memberships.length <= 1) return here.tenantId
  const { Interaction: before } = ctx.oidc.entities
  const shown = (before?.result as Choice)?.chooses ?? (before?.lastSubmission as Choice)?.chooses
  Object.assign(ctx.oidc, { result: { ...ctx.oidc.result, chooses: here.userId } })
  return shown === here.userId ? here.tenantId : null
}

/** The organization that a scope names. The library drops scopes that it does not know. */
function organizationOfScope({ query, oidc }: OidcContext): string | undefined {
  const scopes = String(query.scope ?? oidc.body?.scope ?? '').split(' ')
  return scopes.find((one) => one.startsWith(prefix))?.slice(prefix.length)
}

/** Checks a request before anyone signs in. Keeps the organization that it names, and refuses that of another tenant than the client's. */
export const requestCheck =
  ({ deps, library }: { deps: PageDeps; library: Library }) =>
  async (ctx: unknown): Promise<void> => {
    const { oidc } = ctx as OidcContext
    // Postgres stores no NUL.
    if (Object.values(oidc.params ?? {}).some((value) => String(value).includes('\0')))
      throw new library.errors.InvalidRequest('A parameter has a NUL character')
    if (oidc.params) oidc.params.organization ??= organizationOfScope(ctx as OidcContext)
    const { id, tenantId } = ownOf(oidc.client)
    const named = organizationIn(oidc)
    if (named === null || named === tenantId || isOfManifest(id)) return
    if (
      !(await readInTenant(deps.db, { tenantId, userId: nilUuid }, (read) => hasSlug(read, tenantId, named)))
    )
      throw new library.errors.InvalidRequest('The organization is not that of the application')
  }

/** The `sid` of a browser's session for a client of a tenant: two cannot tell by it that they share a session. */
export const sidOf = (sessionId: string, { tenantId, id }: ClientKey): string =>
  hash('sha256', `${sessionId}.${tenantId}.${id}`, 'buffer').subarray(0, 16).toString('base64url')

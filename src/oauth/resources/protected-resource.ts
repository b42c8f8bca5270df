import type { Context } from 'koa'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { pathPrefix } from '../../http/path-prefix.ts'
import { proofAlgorithms } from '../../request/dpop-proof.ts'
import { apiIdentifier } from './check-resource.ts'

// RFC 9728: an application that meets the API learns from it where to get a token, and for which resource.

const document = '/.well-known/oauth-protected-resource'

/** Whether a path is that of the document, with the path of the issuer or without it, as a proxy passes it on. */
export function isMetadata({ publicUrl }: Pick<Deps, 'publicUrl'>, path: string): boolean {
  return path.startsWith(document) && [`${document}/api/v1`, metadataPath(publicUrl())].includes(path)
}

/** Names the API as a resource, and the provider. */
export function showResource(deps: Pick<Deps, 'publicUrl'>, http: Context): void {
  http.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'public, max-age=60' })
  http.body = {
    resource: apiIdentifier(deps),
    authorization_servers: [deps.publicUrl()],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: proofAlgorithms,
  }
}

/** Adds the address of the document to the challenge of a refusal (RFC 9728 §5.1). */
export function nameMetadata({ publicUrl }: Pick<Deps, 'publicUrl'>, refusal: unknown): void {
  if (!(refusal instanceof ApiError)) return
  const challenge = refusal.headers['WWW-Authenticate']
  if (!challenge) return
  const { origin } = new URL(publicUrl())
  const named = `resource_metadata="${origin}${metadataPath(publicUrl())}"`
  refusal.headers['WWW-Authenticate'] = challenge + (challenge.includes('=') ? ', ' : ' ') + named
}

const metadataPath = (issuer: string) => `${document}${pathPrefix(issuer)}/api/v1`

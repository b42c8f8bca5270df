import { createHash } from 'node:crypto'
import { canonicalJson } from '../../crypto/canonical-json.ts'
import type { Sealer } from '../../crypto/seal.ts'
import { openToken, sealToken } from '../../crypto/sealed-token.ts'
import { invalidField } from '../../errors.ts'

/** What a page token is bound to: the tenant, the caller, the search and the revision of its policies. */
export interface TokenScope {
  path: string
  tenantId: string
  userId: string
  evaluation: object
  revision: number
}

/** Encrypts the position of the last result. It could be the id of an object that the caller cannot read. */
export function sealPosition(sealer: Sealer, scope: TokenScope, position: unknown): string {
  const text = JSON.stringify([scope.revision, position])
  return sealToken(sealer, 'cursor', text, contextOf(scope))
}

/**
 * Decrypts the position of a page token. Throws 400 for a token of another tenant, caller or evaluation, and for one of an
 * earlier revision of the policies: a search that went on would have left out what they permit now.
 */
export function openPosition<Position>(sealer: Sealer, scope: TokenScope, token: string): Position {
  const [revision, position] = opened(sealer, scope, token)
  if (revision === scope.revision) return position
  throw invalidField(
    'page.token',
    'The policies of the tenant have changed since this page. Start again without a token.',
    'outdated',
  )
}

function opened(sealer: Sealer, scope: TokenScope, token: string) {
  try {
    return openToken(sealer, 'cursor', token, contextOf(scope))
  } catch {
    throw invalidField(
      'page.token',
      'This token does not belong to this question. Start again without a token.',
    )
  }
}

const contextOf = ({ path, tenantId, userId, evaluation }: TokenScope): string =>
  JSON.stringify([path, tenantId, userId, digestOf(evaluation)])

const digestOf = (evaluation: object) =>
  createHash('sha256').update(canonicalJson(evaluation)).digest('base64url')

import { apiAudience } from '../../crypto/token-signer.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { readClientId } from '../clients/client-id.ts'
import { clientsAmong, findByIdentifier, type ResourceFields } from './store.ts'

type Audiences = Pick<Deps, 'publicUrl' | 'config'>

/** The identifier of the API of this service. */
export const apiIdentifier = ({ publicUrl }: Pick<Deps, 'publicUrl'>): string => apiAudience(publicUrl())

export const ownIdentifier = 'This names the service itself. Give the URI of your own API.'

/**
 * Whether tokens of a tenant may name this audience: neither the service itself, nor what every application takes for the
 * audience of a person's own token.
 */
export function isFree({ publicUrl, config }: Audiences, identifier: string): boolean {
  const [own, asked] = [new URL(publicUrl()), new URL(identifier)]
  const below = `${own.pathname.replace(/\/$/, '')}/`
  const isOwn = asked.host === own.host && `${asked.pathname}/`.startsWith(below)
  return !isOwn && identifier !== config.JWT_AUDIENCE
}

/**
 * The rows of clients that a body names. Throws 400 on `client_ids` for one that the tenant does not have.
 */
export async function clientRowsOf(tx: Tx, tenantId: string, ids: readonly string[]): Promise<string[]> {
  const keys = ids.map((text) => readClientId(text)!)
  const found = await clientsAmong(
    tx,
    tenantId,
    keys.map(({ id }) => id),
  )
  for (const [i, key] of keys.entries())
    if (key.tenantId !== tenantId || !found.includes(key.id))
      throw invalidField(`client_ids.${i}`, 'This tenant has no application with this id.', 'unknown')
  return keys.map(({ id }) => id)
}

/** Throws 400 for an identifier that is not the tenant's to name, and 409 `name_taken`. The tenant is locked. */
export async function assertIdentifier(
  tx: Tx,
  deps: Audiences,
  tenantId: string,
  { identifier }: Pick<ResourceFields, 'identifier'>,
): Promise<void> {
  if (!isFree(deps, identifier)) throw invalidField('identifier', ownIdentifier)
  const found = await findByIdentifier(tx, tenantId, identifier)
  if (found)
    throw new ApiError(
      409,
      'name_taken',
      found.tenant_id === tenantId
        ? 'This tenant has a resource with this identifier.'
        : 'An application of this installation has this identifier. Give the URI of your own API.',
    )
}

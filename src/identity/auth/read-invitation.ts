import { readAsSystem } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { signature } from '../../messages/mail/free-text.ts'
import type { Offer } from '../../tenancy/invitations/store.ts'
import { findTerms } from '../../tenancy/invitations/terms-store.ts'
import { findCredentials } from '../users/store.ts'

/** What an invitation offers to whom. */
export interface ReadInvitation {
  email: string
  /** Whether the address has an account. */
  hasAccount: boolean
  tenantId: string
  tenantName: string
  /** As its mail names who invites; empty for a person without a name and a proven address, or who is a member no more. */
  inviter: string
  /** By name. */
  roles: readonly string[]
}

/** Reads an invitation for the holder of its token, or for the person whose verified address it is to, before they accept it. */
export function readInvitation({ db }: Pick<Deps, 'db'>, offer: Offer): Promise<ReadInvitation> {
  const { email, tenant_id: tenantId, tenant_name: tenantName } = offer
  return readAsSystem(db, 'the holder of the token need not be logged in', async (read) => {
    const [terms, account] = await Promise.all([findTerms(read, offer), findCredentials(read, email)])
    const inviter = terms?.inviter ? signature(terms.inviter) : ''
    return { email, hasAccount: account !== null, tenantId, tenantName, inviter, roles: terms?.roles ?? [] }
  })
}

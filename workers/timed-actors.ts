import { checkConnections } from '../src/federation/connections/check-connections.ts'
import { checkDomains } from '../src/tenancy/domains/check-domains.ts'
import { expireInvitations } from '../src/tenancy/invitations/expire-invitations.ts'
import { defineTimed } from './schedule.ts'

/** Marks overdue invitations as expired. No reader depends on it: readers compare `expires_at`. */
export const invitationExpiry = defineTimed({
  name: 'invitation-expiry',
  every: 60_000,
  run: async ({ db, clock }) => ({ expired: await expireInvitations(db, clock()) }),
})

/** Looks for the records of verified domains, each once a day. */
export const domainCheck = defineTimed({
  name: 'domain-check',
  every: 600_000,
  run: ({ db, service, clock }, stopped) => checkDomains({ worker: db, service }, clock(), stopped),
})

/** Looks at active connections, each once a day: their metadata, the ends of certificates, and who activated them. */
export const connectionCheck = defineTimed({
  name: 'connection-check',
  every: 600_000,
  run: ({ db, service, clock }, stopped) => checkConnections({ worker: db, service }, clock(), stopped),
})

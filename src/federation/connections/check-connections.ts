import { isDeepStrictEqual } from 'node:util'
import { nilUuid } from '../../crypto/uuid.ts'
import { readAsWorker } from '../../database/executor/read.ts'
import { type Databases, inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { listOwnerAddresses } from '../../tenancy/members/person-store.ts'
import { excessOf } from '../../tenancy/roles/grantable-roles.ts'
import { type DueConnection, holderIn, listDue, markActivatorLeft, recordCheck } from './check-store.ts'
import { readIdentityProvider } from './identity-provider.ts'
import type { SamlConfig } from './store.ts'

// Each active connection is looked at once a day. Metadata at an address is read again: its owners trust the address, so certificates
// that change there count by themselves, and another entity id never does. The owners get a mail 30, 7 and 1 days before the last
// certificate ends, and one when the person who activated it has left or holds less.

const day = 24 * 3_600_000
const remindedBefore = [30 * day, 7 * day, day]
const batch = 20
const origin = { requestId: 'connection-check', ip: '', userAgent: '' }

type Service = Pick<Deps, 'db' | 'sealer' | 'config' | 'clock'>
interface CheckDeps {
  worker: Pick<Databases, 'worker'>
  /** The service: it reads the members of a tenant, as its API does. */
  service: () => Promise<Service>
}

/** Looks at the connections that are due, until none is left or `stopped`; gives how many there were. */
export async function checkConnections(
  { worker, service }: CheckDeps,
  now: number,
  stopped: () => boolean = () => false,
): Promise<{ checked: number }> {
  const total = { checked: 0 }
  while (!stopped()) {
    const due = await readAsWorker(worker, (read) => listDue(read, now - day, batch))
    if (due.length === 0) break
    const deps = await service()
    await Promise.all(due.map((connection) => checkConnection(deps, connection, now)))
    total.checked += due.length
  }
  return total
}

async function checkConnection(deps: Service, due: DueConnection, at: number): Promise<void> {
  const { tenant_id: tenantId, id, version, saml: before } = due
  const read = before && (await configNow(deps, tenantId, before))
  const config = isDeepStrictEqual(read, before) ? null : read
  await inTenant(deps.db, { tenantId, userId: nilUuid }, async (tx) => {
    const check = { tenantId, id, version, at, config, checkedBefore: at - day }
    const found = await recordCheck(tx, check)
    if (!found) return
    const { name, checked_before: last, activated_by: userId, activator, activator_left_at: leftAt } = found
    const variables = { tenantName: due.tenant_name, connection: name }
    if (config && config.read_at !== before?.read_at) await recordRead(tx, due, { config, at })
    const endsAt = read && Math.max(...read.certificates.map((one) => Date.parse(one.ends_at)))
    if (endsAt && remindedBefore.some((ms) => last < endsAt - ms && at >= endsAt - ms))
      await notifyOwners(tx, deps, { tenantId, at }, 'connection_certificate_ends', { ...variables, endsAt })
    if (leftAt !== null || excessOf(await holderIn(tx, tenantId, userId), activator) === null) return
    markActivatorLeft(tx, { tenantId, id, at })
    await notifyOwners(tx, deps, { tenantId, at }, 'connection_activator_left', variables)
  })
}

/** What counts of the metadata now: what was uploaded does not change. */
async function configNow(deps: Service, tenantId: string, before: SamlConfig): Promise<SamlConfig> {
  const { metadata_url, read_at } = before
  if (metadata_url === null) return before
  try {
    const read = await readIdentityProvider(deps, tenantId, { metadata_url })
    if (read.entity_id !== before.entity_id)
      return { ...before, fault: `The metadata is of another identity provider: ${read.entity_id}` }
    return isDeepStrictEqual({ ...read, read_at }, { ...before, fault: null }) ? { ...read, read_at } : read
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 400)) throw error
    return { ...before, fault: error.message }
  }
}

async function recordRead(
  tx: Tx,
  { tenant_id: tenantId, id, saml }: DueConnection,
  { config, at }: { config: SamlConfig; at: number },
): Promise<void> {
  const shown = ({ sign_in_url, certificates }: SamlConfig) => ({
    sign_in_url,
    certificates: certificates.map(({ sha256 }) => sha256),
  })
  await appendEvent(tx, {
    type: 'tenant.connection_updated',
    tenantId,
    subject: id,
    data: { connection_id: id },
    actorId: null,
    requestId: origin.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo: origin,
    action: 'connection:check',
    target: { type: 'connection', id },
    changes: { saml: { before: shown(saml!), after: shown(config) } },
    at,
  })
}

interface Letters {
  connection_certificate_ends: { tenantName: string; connection: string; endsAt: number }
  connection_activator_left: { tenantName: string; connection: string }
}

async function notifyOwners<Name extends keyof Letters>(
  tx: Tx,
  { sealer }: Pick<Deps, 'sealer'>,
  { tenantId, at }: { tenantId: string; at: number },
  template: Name,
  variables: Letters[Name],
): Promise<void> {
  for (const to of await listOwnerAddresses(tx, tenantId))
    await sendMail(tx, sealer, {
      ...{ tenantId, requestInfo: { requestId: origin.requestId }, at, to },
      template,
      variables: variables as never,
    })
}

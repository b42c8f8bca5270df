import { nilUuid } from '../../crypto/uuid.ts'
import { readAsWorker } from '../../database/executor/read.ts'
import { type Databases, inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { listOwnerAddresses } from '../members/person-store.ts'
import { hasTextRecord } from './ask-dns.ts'
import { recordName } from './domain-schemas.ts'
import { type DueDomain, listDue, recordCheck } from './store.ts'

// Each verified domain is asked for once a day. When its record is away, the owners get a mail after 3 days, and after 14 days the
// domain is lost: people who are known go on to sign in, and nothing new is led or linked by it.

const day = 24 * 3_600_000
const warnedAfter = 3 * day
const lostAfter = 14 * day
const batch = 20
const origin = { requestId: 'domain-check', ip: '', userAgent: '' }

interface CheckDeps {
  worker: Pick<Databases, 'worker'>
  /** The service: it reads the owners of a tenant, as its API does. */
  service: () => Promise<Pick<Deps, 'db' | 'sealer' | 'config' | 'clock'>>
}

/** Asks the DNS for the domains that are due, until none is left or `stopped`; gives how many there were, and how many are lost. */
export async function checkDomains(
  { worker, service }: CheckDeps,
  now: number,
  stopped: () => boolean = () => false,
): Promise<{ checked: number; lost: number }> {
  const total = { checked: 0, lost: 0 }
  while (!stopped()) {
    const due = await readAsWorker(worker, (read) => listDue(read, now - day, batch))
    if (due.length === 0) break
    const deps = await service()
    const outcomes = await Promise.all(due.map((domain) => checkDomain(deps, domain, now)))
    total.checked += due.length
    total.lost += outcomes.filter((status) => status === 'lost').length
  }
  return total
}

async function checkDomain(
  deps: Awaited<ReturnType<CheckDeps['service']>>,
  due: DueDomain,
  at: number,
): Promise<string | null> {
  const { tenant_id: tenantId, id, domain, record_value: value, is_deleted: isDeleted } = due
  const isThere =
    !isDeleted && (await hasTextRecord(deps.config.DNS_RESOLVERS, { name: recordName(domain), value }))
  return inTenant(deps.db, { tenantId, userId: nilUuid }, async (tx) => {
    // A deleted tenant keeps no domain from others.
    const lostIf = isDeleted ? at : at - lostAfter
    const found = await recordCheck(tx, { tenantId, id, isThere, at, lostIf, askedBefore: at - day })
    if (found === null || isDeleted || found.missing_since === null) return found?.status ?? null
    const { status, missing_since: since, asked_before: before } = found
    if (status === 'lost') await recordLost(tx, due, at)
    const isNew = before - since < warnedAfter && at - since >= warnedAfter
    if (status === 'lost' || isNew) await notifyOwners(tx, deps, due, { status, since, at })
    return status
  })
}

async function recordLost(tx: Tx, { tenant_id: tenantId, id, domain }: DueDomain, at: number): Promise<void> {
  await appendEvent(tx, {
    type: 'tenant.domain_lost',
    tenantId,
    subject: id,
    data: { domain_id: id, domain },
    actorId: null,
    requestId: origin.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo: origin,
    action: 'domain:check',
    target: { type: 'domain', id },
    changes: { status: { before: 'verified', after: 'lost' } },
    at,
  })
}

async function notifyOwners(
  tx: Tx,
  { sealer }: Pick<Deps, 'sealer'>,
  { tenant_id: tenantId, tenant_name: tenantName, domain, record_value: value }: DueDomain,
  { status, since, at }: { status: string; since: number; at: number },
): Promise<void> {
  const record = `${recordName(domain)} TXT "${value}"`
  const mail = { tenantId, requestInfo: { requestId: origin.requestId }, at }
  for (const to of await listOwnerAddresses(tx, tenantId))
    if (status === 'lost')
      await sendMail(tx, sealer, {
        ...mail,
        to,
        template: 'domain_lost',
        variables: { tenantName, domain, record },
      })
    else
      await sendMail(tx, sealer, {
        ...mail,
        to,
        template: 'domain_missing',
        variables: { tenantName, domain, record, until: since + lostAfter },
      })
}

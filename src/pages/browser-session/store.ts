import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

const cookieRow = z.object({
  id: z.uuid(),
  checked_until: z.number(),
  methods: z.array(z.string()),
  family_id: z.uuid().nullable(),
  session_id: z.uuid().nullable(),
  user_id: z.uuid().nullable(),
  tenant_id: z.uuid().nullable(),
  pending_id: z.uuid().nullable(),
  pending_user_id: z.uuid().nullable(),
  pending_tenant_id: z.uuid().nullable(),
  impersonated_id: z.uuid().nullable(),
})

type CookieKind = 'console' | 'login'

export type CookieRow = z.infer<typeof cookieRow>

/** What a cookie stands for: a chain of refresh tokens, a waiting sign-in, or both. Null if unknown or over. */
export function findCookie(
  read: Read,
  { kind, hash, now }: { kind: CookieKind; hash: Buffer; now: number },
): Promise<CookieRow | null> {
  const at = instant(now)
  return read.maybeOne(sql.type(cookieRow)`
    select c.id, c.checked_until, c.methods, f.id as family_id, f.session_id, f.user_id, f.tenant_id,
           p.id as pending_id, p.user_id as pending_user_id, p.tenant_id as pending_tenant_id,
           case when c.impersonated_until > ${at} then c.impersonated_id end as impersonated_id
    from browser_sessions c
    left join refresh_families f on f.id = c.family_id and f.ended_at is null and f.expires_at > ${at}
    left join pending_sessions p on p.id = c.pending_id and p.ended_at is null and p.expires_at > ${at}
    where c.cookie_hash = ${sql.binary(hash)} and c.kind = ${kind} and c.expires_at > ${at}`)
}

/** What a cookie is to stand for. Times are in ms since 1970. */
export interface CookieFacts {
  familyId: string | null
  checkedUntil: number
  pendingId: string | null
  methods: readonly string[]
  expiresAt: number
}

/** Inserts a new cookie, and notes that its session is that of a browser. As the system role. */
export async function insertCookie(
  tx: Tx,
  cookie: CookieFacts & { id: string; kind: CookieKind; cookieHash: Buffer; at: number },
): Promise<void> {
  const { id, kind, cookieHash, familyId, checkedUntil, pendingId, methods, at, expiresAt } = cookie
  tx.later(sql.unsafe`
    insert into browser_sessions (id, kind, cookie_hash, family_id, checked_until, pending_id, methods, created_at, expires_at)
    values (${id}, ${kind}, ${sql.binary(cookieHash)}, ${familyId}, ${instant(checkedUntil)}, ${pendingId},
            ${sql.array(methods, 'text')}, ${instant(at)}, ${instant(expiresAt)})`)
  if (familyId === null) return
  tx.later(sql.unsafe`
    update sessions set kind = 'browser'
    where id = (select session_id from refresh_families where id = ${familyId}) and kind <> 'browser'`)
}

/** Gives a cookie another tenant of its session. As the system role. */
export async function moveCookie(tx: Tx, id: string, facts: CookieFacts): Promise<void> {
  const { familyId, checkedUntil, pendingId, methods, expiresAt } = facts
  tx.later(sql.unsafe`
    update browser_sessions set family_id = ${familyId}, checked_until = ${instant(checkedUntil)},
      pending_id = ${pendingId}, methods = ${sql.array(methods, 'text')}, expires_at = ${instant(expiresAt)},
      impersonated_id = null, impersonated_until = null
    where id = ${id}`)
}

/**
 * Notes whom the person of a cookie acts as, and until when (ms since 1970); null: no one. False, and nothing is noted,
 * when the cookie stands for another chain by now, such as one of another tenant. As the system role.
 */
export async function recordImpersonation(
  tx: Tx,
  { id, family_id: familyId }: Pick<CookieRow, 'id' | 'family_id'>,
  acting: { userId: string; until: number } | null,
): Promise<boolean> {
  const noted = await tx.maybeOne(sql.type(idRow)`
    update browser_sessions set impersonated_id = ${acting?.userId ?? null},
      impersonated_until = ${acting ? instant(acting.until) : null}
    where id = ${id} and family_id = ${familyId} returning id`)
  return noted !== null
}

/** Notes that the session of a cookie was checked. As the system role. */
export async function recordChecked(tx: Tx, id: string, checkedUntil: number): Promise<void> {
  tx.later(sql.unsafe`
    update browser_sessions set checked_until = ${instant(checkedUntil)} where id = ${id}`)
}

/** Notes that the session of a cookie waits for a second factor to enter, or to stay in, a tenant. As the system role. */
export async function recordPending(
  tx: Tx,
  id: string,
  pending: { pendingId: string; methods: readonly string[] },
): Promise<void> {
  tx.later(sql.unsafe`
    update browser_sessions set pending_id = ${pending.pendingId}, methods = ${sql.array(pending.methods, 'text')}
    where id = ${id}`)
}

/** Forgets a cookie. As the system role. */
export async function deleteCookie(tx: Tx, cookieHash: Buffer): Promise<void> {
  tx.later(sql.unsafe`delete from browser_sessions where cookie_hash = ${sql.binary(cookieHash)}`)
}

/** Gives a cookie of a chain another value, by their hashes. False if it stands for another chain. As the system role. */
export async function renewCookie(
  tx: Tx,
  { kind, familyId, from, to }: { kind: CookieKind; familyId: string; from: Buffer; to: Buffer },
): Promise<boolean> {
  const renewed = await tx.maybeOne(sql.type(idRow)`
    update browser_sessions set cookie_hash = ${sql.binary(to)}
    where cookie_hash = ${sql.binary(from)} and kind = ${kind} and family_id = ${familyId} returning id`)
  return renewed !== null
}

/** Forgets the cookies of a kind that stand for a chain: a browser has one. As the system role. */
export async function deleteOfChain(
  tx: Tx,
  { familyId, kind }: { familyId: string; kind: CookieKind },
): Promise<void> {
  tx.later(sql.unsafe`delete from browser_sessions where family_id = ${familyId} and kind = ${kind}`)
}

/** Forgets the cookies of a chain, but those with these hashes. As the system role. */
export async function deleteOthers(tx: Tx, familyId: string, kept: readonly Buffer[]): Promise<void> {
  tx.later(sql.unsafe`
    delete from browser_sessions
    where family_id = ${familyId} and not cookie_hash = any(${sql.array(kept, 'bytea')})`)
}

import { z } from 'zod'
import type { Sealer } from '../../../crypto/seal.ts'
import { deleteOld } from '../../../database/delete-old.ts'
import type { Read } from '../../../database/executor/read.ts'
import { sql, type Tx } from '../../../database/executor/transaction.ts'
import { instant } from '../../../database/instant.ts'
import { byWord, defineList, type ListPage } from '../../../lists/list.ts'
import type { ConnectionKey } from '../store.ts'

export const outcomes = ['signed_in', 'joined', 'refused'] as const

const signInRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  at: z.number(),
  outcome: z.enum(outcomes),
  code: z.string().nullable(),
  reason: z.string().nullable(),
  user_id: z.uuid().nullable(),
  claims_sealed: z.instanceof(Buffer).nullable(),
})

/** A sign-in by a connection; `at` in ms since 1970. */
export type SignInRow = z.infer<typeof signInRow>

/** The sign-ins by a connection, newest first. */
export const signInList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`at`, field: 'at', reveals: ['at'] } },
  newestFirst: true,
  filters: { outcome: byWord(sql.fragment`outcome`, outcomes) },
})

/** A page of the sign-ins by a connection. */
export function listSignIns(
  read: Read,
  { tenantId, id }: ConnectionKey,
  page: ListPage,
): Promise<readonly SignInRow[]> {
  return read.any(sql.type(signInRow)`
    select tenant_id, id, at, outcome, code, reason, user_id, claims_sealed
    from connection_sign_ins where tenant_id = ${tenantId} and connection_id = ${id} ${page.tail}`)
}

/** Inserts a sign-in. */
export function insertSignIn(tx: Tx, connectionId: string, row: SignInRow): void {
  tx.later(sql.unsafe`
    insert into connection_sign_ins (tenant_id, connection_id, id, at, outcome, code, reason, user_id, claims_sealed)
    values (${row.tenant_id}, ${connectionId}, ${row.id}, ${instant(row.at)}, ${row.outcome}, ${row.code}, ${row.reason},
      ${row.user_id}, ${row.claims_sealed && sql.binary(row.claims_sealed)})`)
}

/** Deletes the sign-ins by a connection except the newest `kept`: of those that were refused, of the others, or of all (null). */
export function deleteSignInsBeyond(
  tx: Tx,
  { tenantId, id, isRefused }: ConnectionKey & { isRefused: boolean | null },
  kept: number,
): void {
  const ofConnection = sql.fragment`
    tenant_id = ${tenantId} and connection_id = ${id} and (outcome = 'refused') = coalesce(${isRefused}::boolean, outcome = 'refused')`
  tx.later(sql.unsafe`
    delete from connection_sign_ins where ${ofConnection} and id in (
      select id from connection_sign_ins where ${ofConnection} order by at desc, id desc offset ${kept})`)
}

/** Deletes at most `limit` sign-ins older than `before` (ms since 1970); returns how many. As the worker role. */
export const deleteSignInsBefore = (tx: Tx, before: number, limit: number): Promise<number> =>
  deleteOld(
    tx,
    { table: 'connection_sign_ins', column: 'at', before: sql.fragment`${instant(before)}` },
    limit,
  )

const sealedRow = z.object({
  id: z.uuid(),
  user_id: z.uuid().nullable(),
  claims_sealed: signInRow.shape.claims_sealed,
})

/** Deletes a tenant's sign-ins of a person, and those whose claims have one of their addresses. As the worker role. */
export async function deleteSignInsOf(
  tx: Tx,
  sealer: Sealer,
  { tenantId, userId, emails }: { tenantId: string; userId: string; emails: readonly string[] },
): Promise<void> {
  const rows = await tx.any(sql.type(sealedRow)`
    select id, user_id, claims_sealed from connection_sign_ins where tenant_id = ${tenantId}`)
  const theirs = rows.filter(({ id, user_id, claims_sealed }) => {
    const email = openClaims(sealer, { tenant_id: tenantId, id, claims_sealed })?.email
    return user_id === userId || (typeof email === 'string' && emails.includes(email))
  })
  tx.later(sql.unsafe`
    delete from connection_sign_ins where tenant_id = ${tenantId} and id = any(${sql.array(
      theirs.map(({ id }) => id),
      'uuid',
    )})`)
}

type Claims = Readonly<Record<string, unknown>>

/** What {@link sealClaims} sealed; null: nothing, or no key opens it any more. */
export function openClaims(
  sealer: Sealer,
  { tenant_id, id, claims_sealed }: Pick<SignInRow, 'tenant_id' | 'id' | 'claims_sealed'>,
): Claims | null {
  try {
    return claims_sealed && JSON.parse(sealer.open('federation', claims_sealed, `${tenant_id}.${id}`))
  } catch {
    return null
  }
}

export const sealClaims = (
  sealer: Sealer,
  { tenant_id, id }: Pick<SignInRow, 'tenant_id' | 'id'>,
  claims: Claims,
) => sealer.seal('federation', JSON.stringify(claims), `${tenant_id}.${id}`)

import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

interface NewFamily {
  id: string
  sessionId: string
  userId: string
  tenantId: string
  jtiHash: Buffer
  /** The factors that were shown for it, and when a second one was. All times are in ms since 1970. */
  amr: readonly string[]
  secondFactorAt: number | null
  at: number
  expiresAt: number
  /** Its absolute end: no use moves it. */
  endsAt: number
}

/** Inserts a chain of refresh tokens with its first token. As the system role. */
export async function insertFamily(tx: Tx, family: NewFamily): Promise<void> {
  const at = instant(family.at)
  tx.later(sql.unsafe`
    insert into refresh_families (id, session_id, user_id, tenant_id, generation, jti_hash, amr, second_factor_at,
                                  created_at, rotated_at, expires_at, ends_at)
    values (${family.id}, ${family.sessionId}, ${family.userId}, ${family.tenantId}, 0, ${sql.binary(family.jtiHash)},
            ${sql.array(family.amr, 'text')}, ${instant(family.secondFactorAt)},
            ${at}, ${at}, ${instant(family.expiresAt)}, ${instant(family.endsAt)})`)
}

/**
 * Deletes a session's chains except `newId` and, of the others, those of cookies, and then those that can last longest, the
 * most recently used first: `kept` in all. So chains made with an access token alone cannot crowd out the owner's, nor the
 * applications that a browser visits in other tenants its console. As the system role.
 */
export async function deleteSurplusFamilies(
  tx: Tx,
  { sessionId, newId, kept }: { sessionId: string; newId: string; kept: number },
): Promise<void> {
  tx.later(sql.unsafe`
    delete from refresh_families where id = any(array(
      select id from refresh_families f where session_id = ${sessionId} and id <> ${newId}
      order by exists (select 1 from browser_sessions c where c.family_id = f.id) desc,
               ends_at desc nulls first, rotated_at desc, id desc offset ${kept - 1}))`)
}

/**
 * Ends the chains of a session except `keptId`. The access tokens that this one gave until `at` begin no other chain without
 * its refresh token: they can be copies. The transaction must hold the session's row (see `lockSession`). As the system role.
 */
export function endOtherFamilies(
  tx: Tx,
  { sessionId, keptId, at }: { sessionId: string; keptId: string | null; at: number },
): void {
  tx.later(sql.unsafe`
    update refresh_families set ended_at = ${instant(at)}
    where session_id = ${sessionId} and ended_at is null and id is distinct from ${keptId}::uuid`)
  tx.later(sql.unsafe`
    update refresh_families set access_since = ${instant(at)} where session_id = ${sessionId} and id = ${keptId}`)
}

const familyRow = z.object({
  id: z.uuid(),
  session_id: z.uuid(),
  user_id: z.uuid(),
  tenant_id: z.uuid(),
  generation: z.number(),
  jti_hash: z.instanceof(Buffer),
  rotated_at: z.number(),
  expires_at: z.number(),
  ended: z.boolean(),
  /** The next three are null in a chain of an earlier release, which is as its session. */
  amr: z.array(z.string()).nullable(),
  second_factor_at: z.number().nullable(),
  ends_at: z.number().nullable(),
  access_since: z.number().nullable(),
})

export type FamilyRow = z.infer<typeof familyRow>

const columns = sql.fragment`
  id, session_id, user_id, tenant_id, generation, jti_hash, rotated_at, least(expires_at, ends_at) as expires_at,
  ended_at is not null as ended, amr, second_factor_at, ends_at, access_since`

/** A chain of refresh tokens, or null. As the system role. */
export function findFamily(tx: Tx, familyId: string): Promise<FamilyRow | null> {
  return tx.maybeOne(sql.type(familyRow)`select ${columns} from refresh_families where id = ${familyId}`)
}

const rotationTimes = z.object({ recent_rotations: z.array(z.number()) })

/** When a chain advanced within the grace time, in ms since 1970, the last one at the end. As the system role. */
export async function findRecentRotations(tx: Tx, familyId: string): Promise<readonly number[]> {
  const times = await tx.maybeOneFirst(
    sql.type(rotationTimes)`select recent_rotations from refresh_families where id = ${familyId}`,
  )
  return times ?? []
}

interface Rotation {
  id: string
  generation: number
  jtiHash: Buffer
  nextJtiHash: Buffer
  at: number
  expiresAt: number
  /** Rotations since this moment (ms) are kept, to distinguish a retry from a replay. */
  rememberSince: number
}

/** Replaces the live token of a chain by its successor. As the system role. */
export async function rotateFamily(tx: Tx, rotation: Rotation): Promise<void> {
  const { id, generation, jtiHash, nextJtiHash, at, expiresAt, rememberSince } = rotation
  tx.later(sql.unsafe`
    update refresh_families f set
      generation = generation + 1, jti_hash = ${sql.binary(nextJtiHash)},
      rotated_at = ${instant(at)}, expires_at = ${instant(expiresAt)},
      recent_rotations = array(
        select r from (select r from unnest(f.recent_rotations) r
                       where r > ${instant(rememberSince)} order by r desc limit 63) kept
        order by r) || ${instant(at)}
    where id = ${id} and generation = ${generation} and jti_hash = ${sql.binary(jtiHash)}
      and ended_at is null and expires_at > ${instant(at)}`)
}

interface ShownFactor {
  familyId: string
  sessionId: string
  userId: string
  /** Its `amr` value. */
  kind: string
  /** Whether it raises the chain to `aal2`. */
  counts: boolean
  at: number
}

/** Records a second factor that a chain of a live session showed. False if chain or session are over. As the system role. */
export async function recordFactor(tx: Tx, factor: ShownFactor): Promise<boolean> {
  const { familyId, sessionId, userId, kind, counts } = factor
  const at = instant(factor.at)
  const before = sql.fragment`coalesce(f.amr, s.amr)`
  const change = counts
    ? sql.fragment`second_factor_at = ${at},
        amr = array_remove(${before}, 'mfa') || case when ${kind}::text = any(${before}) then '{mfa}' else array[${kind}::text, 'mfa'] end`
    : sql.fragment`amr = case when ${kind}::text = any(${before}) then ${before} else ${before} || ${kind}::text end,
        second_factor_at = case when f.amr is null then s.second_factor_at else f.second_factor_at end`
  const recorded = await tx.maybeOne(sql.type(idRow)`
    with s as (
      update sessions set last_used_at = ${at}
      where id = ${sessionId} and user_id = ${userId} and ended_at is null and expires_at > ${at}
      returning id, amr, second_factor_at)
    update refresh_families f set ${change}
    from s where f.id = ${familyId} and f.session_id = s.id and f.ended_at is null
      and least(f.expires_at, f.ends_at) > ${at} returning f.id`)
  return recorded !== null
}

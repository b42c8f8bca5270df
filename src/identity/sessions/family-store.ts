import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

interface NewFamily {
  id: string
  sessionId: string
  userId: string
  tenantId: string
  jtiHash: Buffer
  at: number
  expiresAt: number
}

/** Inserts a chain of refresh tokens with its first token. As the system role. */
export async function insertFamily(tx: Tx, family: NewFamily): Promise<void> {
  const at = sql.timestamp(new Date(family.at))
  tx.later(sql.unsafe`
    insert into refresh_families (id, session_id, user_id, tenant_id, generation, jti_hash, created_at, rotated_at, expires_at)
    values (${family.id}, ${family.sessionId}, ${family.userId}, ${family.tenantId}, 0, ${sql.binary(family.jtiHash)},
            ${at}, ${at}, ${sql.timestamp(new Date(family.expiresAt))})`)
}

/** Deletes a session's families except the `kept` most recently used. As the system role. */
export async function deleteOldestFamilies(
  tx: Tx,
  { sessionId, kept }: { sessionId: string; kept: number },
): Promise<void> {
  tx.later(sql.unsafe`
    delete from refresh_families where id = any(array(
      select id from refresh_families where session_id = ${sessionId}
      order by rotated_at desc, id desc offset ${kept}))`)
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
})

export type FamilyRow = z.infer<typeof familyRow>

const columns = sql.fragment`
  id, session_id, user_id, tenant_id, generation, jti_hash, rotated_at, expires_at,
  ended_at is not null as ended`

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
      rotated_at = ${sql.timestamp(new Date(at))}, expires_at = ${sql.timestamp(new Date(expiresAt))},
      recent_rotations = array(
        select r from (select r from unnest(f.recent_rotations) r
                       where r > ${sql.timestamp(new Date(rememberSince))} order by r desc limit 63) kept
        order by r) || ${sql.timestamp(new Date(at))}
    where id = ${id} and generation = ${generation} and jti_hash = ${sql.binary(jtiHash)}
      and ended_at is null and expires_at > ${sql.timestamp(new Date(at))}`)
}

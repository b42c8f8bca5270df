import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'

const purposeRow = z.object({ purpose: z.string() })

// Times are in ms since 1970. What passkeys share with other second factors is in otp/store.ts.

const passkeyRow = z.object({
  id: z.uuid(),
  name: z.string(),
  transports: z.array(z.string()),
  backed_up: z.boolean(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
})

export type PasskeyRow = z.infer<typeof passkeyRow>

const columns = sql.fragment`id, name, transports, backed_up, created_at, last_used_at`

/** Passkeys are listed oldest first. */
export const passkeyList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

/** A page of a person's passkeys. */
export function listPasskeys(read: Read, userId: string, page: ListPage): Promise<readonly PasskeyRow[]> {
  return read.any(
    sql.type(passkeyRow)`select ${columns} from passkeys where user_id = ${userId} ${page.tail}`,
  )
}

/** How many passkeys {@link listPasskeys} lists over all pages. */
export function countPasskeys(read: Read, userId: string, page: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from passkeys where user_id = ${userId} ${page.conditions}`)
}

/** One of a person's passkeys, or null. */
export function findPasskey(tx: Read, userId: string, id: string): Promise<PasskeyRow | null> {
  return tx.maybeOne(sql.type(passkeyRow)`
    select ${columns} from passkeys where user_id = ${userId} and id = ${id}`)
}

/** One of a person's passkeys, locked until the transaction ends, or null. */
export function lockPasskey(tx: Tx, userId: string, id: string): Promise<PasskeyRow | null> {
  return tx.maybeOne(sql.type(passkeyRow)`
    select ${columns} from passkeys where user_id = ${userId} and id = ${id} for update`)
}

const handle = z.object({ credential_id: z.instanceof(Buffer), transports: z.array(z.string()) })

/** The credential ids of a person's passkeys, for the options of a ceremony. */
export function listCredentialIds(tx: Tx, userId: string): Promise<readonly z.infer<typeof handle>[]> {
  return tx.any(sql.type(handle)`
    select credential_id, transports from passkeys where user_id = ${userId} order by created_at, id`)
}

interface NewPasskey {
  userId: string
  id: string
  credentialId: Buffer
  publicKey: Buffer
  counter: number
  name: string
  transports: readonly string[]
  backedUp: boolean
  /** Null for at once. */
  countsFrom: number | null
  /** The sign-in that registers it. */
  signInId: string
  at: number
}

/** Inserts a passkey; false if its credential is registered already, by any person. */
export async function insertPasskey(tx: Tx, passkey: NewPasskey): Promise<boolean> {
  const { userId, id, credentialId, publicKey, counter, name, transports, backedUp, countsFrom } = passkey
  const inserted = await tx.maybeOne(sql.type(idRow)`
    insert into passkeys (user_id, id, credential_id, public_key, counter, name, transports, backed_up, created_at,
                          counts_from, shown_in)
    values (${userId}, ${id}, ${sql.binary(credentialId)}, ${sql.binary(publicKey)}, ${counter}, ${name},
            ${sql.array(transports, 'text')}, ${backedUp}, ${instant(passkey.at)},
            ${instant(countsFrom)}, ${passkey.signInId})
    on conflict (credential_id) do nothing returning id`)
  return inserted !== null
}

/** Renames a passkey. */
export async function renamePasskey(
  tx: Tx,
  passkey: { userId: string; id: string; name: string },
): Promise<void> {
  tx.later(sql.unsafe`
    update passkeys set name = ${passkey.name} where user_id = ${passkey.userId} and id = ${passkey.id}`)
}

const credentialRow = z.object({
  id: z.uuid(),
  user_id: z.uuid(),
  public_key: z.instanceof(Buffer),
  counter: z.number(),
  /** The passkey counts if this is null or past. */
  counts_from: z.number().nullable(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
})

/** A passkey with its key and its person. */
export type Credential = z.infer<typeof credentialRow>

/** The passkey with a credential id, or null. As the system role. */
export function findCredential(tx: Tx, credentialId: Buffer): Promise<Credential | null> {
  return tx.maybeOne(sql.type(credentialRow)`
    select p.id, p.user_id, p.public_key, p.counter, p.counts_from, u.email, u.first_name, u.last_name
    from passkeys p join users u on u.id = p.user_id where p.credential_id = ${sql.binary(credentialId)}`)
}

interface PasskeyUse {
  id: string
  userId: string
  /** The counter that the authenticator signed. */
  counter: number
  backedUp: boolean
  at: number
}

/**
 * Records a use of a passkey whose signature was right; false if the passkey is gone, or
 * its counter does not rise (WebAuthn §6.1.1), except from 0 to 0: synced passkeys keep none. As the system role.
 */
export async function recordPasskeyUse(tx: Tx, use: PasskeyUse): Promise<boolean> {
  const { id, userId, counter, backedUp, at } = use
  const used = await tx.maybeOne(sql.type(idRow)`
    update passkeys set counter = ${counter}, backed_up = ${backedUp}, last_used_at = ${instant(at)}
    where user_id = ${userId} and id = ${id} and (counter < ${counter} or counter = 0 and ${counter}::bigint = 0)
    returning id`)
  return used !== null
}

/** The ceremony that a challenge is for. */
export type Ceremony = 'registration' | 'sign_in' | 'second_factor'

/** What a challenge is bound to: a ceremony, and the person and sign-in that asked. Both are null at a sign-in. */
export interface ChallengeScope {
  ceremony: Ceremony
  userId: string | null
  signInId: string | null
}

/** Stores a challenge. */
export async function insertChallenge(
  tx: Tx,
  {
    challenge,
    ceremony,
    userId,
    signInId,
    expiresAt,
  }: ChallengeScope & { challenge: Buffer; expiresAt: number },
): Promise<void> {
  tx.later(sql.unsafe`
    insert into passkey_challenges (challenge, purpose, user_id, sign_in_id, expires_at)
    values (${sql.binary(challenge)}, ${ceremony}, ${userId}, ${signInId}, ${instant(expiresAt)})`)
}

/** Uses up a valid challenge of this scope. Of parallel calls only one gets true. */
export async function spendChallenge(
  tx: Tx,
  { challenge, ceremony, userId, signInId, at }: ChallengeScope & { challenge: Buffer; at: number },
): Promise<boolean> {
  const spent = await tx.maybeOne(sql.type(purposeRow)`
    delete from passkey_challenges
    where challenge = ${sql.binary(challenge)} and purpose = ${ceremony} and expires_at > ${instant(at)}
      and user_id is not distinct from ${userId}::uuid and sign_in_id is not distinct from ${signInId}::uuid
    returning purpose`)
  return spent !== null
}

// The part of passkeys in what otp/store.ts does with all second factors. Times are in ms since 1970.

/** Locks a person's passkeys until the transaction ends. */
export async function lockPasskeys(tx: Tx, userId: string): Promise<void> {
  tx.later(sql.unsafe`select id from passkeys where user_id = ${userId} order by id for update`)
}

/** Deletes one passkey; returns its id, or nothing. */
export function deletePasskey(tx: Tx, userId: string, id: string): Promise<readonly string[]> {
  return tx.anyFirst(
    sql.type(idRow)`delete from passkeys where user_id = ${userId} and id = ${id} returning id`,
  )
}

/** Deletes a person's passkeys; returns their ids. As the system role. */
export function deleteAllPasskeys(tx: Tx, userId: string): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`delete from passkeys where user_id = ${userId} returning id`)
}

/** Young factors of a person, and with `since` all that were made since then. */
export interface Young {
  userId: string
  since?: number
  at: number
}

/** The condition of {@link Young}, on a table of factors. */
export const isYoung = ({ since, at }: Young) =>
  since === undefined
    ? sql.fragment`counts_from > ${instant(at)}`
    : sql.fragment`(counts_from > ${instant(at)} or created_at >= ${instant(since)})`

/** Deletes a person's {@link Young} passkeys; returns their ids. As the system role. */
export function deleteYoungPasskeys(tx: Tx, young: Young): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    delete from passkeys where user_id = ${young.userId} and ${isYoung(young)} returning id`)
}

/** Records the chain or the waiting sign-in that showed a young passkey. As the system role. */
export async function recordPasskeyShown(
  tx: Tx,
  { userId, deviceId, signInId }: { userId: string; deviceId: string; signInId: string },
): Promise<void> {
  tx.later(sql.unsafe`
    update passkeys set shown_in = ${signInId} where user_id = ${userId} and id = ${deviceId}`)
}

/** Moves the passkeys shown in a waiting sign-in to the chain that it became. As the system role. */
export async function movePasskeysShown(
  tx: Tx,
  { userId, pendingId, familyId }: { userId: string; pendingId: string; familyId: string },
): Promise<void> {
  tx.later(sql.unsafe`
    update passkeys set shown_in = ${familyId} where user_id = ${userId} and shown_in = ${pendingId}`)
}

/** Makes the young passkeys count that were shown in this chain or waiting sign-in; returns their ids. As the system role. */
export function provePasskeys(
  tx: Tx,
  { userId, signInId, at }: { userId: string; signInId: string; at: number },
): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    update passkeys set counts_from = null
    where user_id = ${userId} and counts_from > ${instant(at)}
      and shown_in = ${signInId}
    returning id`)
}

import { z } from 'zod'
import { writeAsSystem } from '../../database/executor/batch.ts'
import type { Read } from '../../database/executor/read.ts'
import type { Statements } from '../../database/executor/statements.ts'
import { type Databases, sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

const failuresRow = z.object({ failures: z.number() })
const senderRow = z.object({ sender: z.string() })
const endsRow = z.object({ ends: z.number() })

/** An attempt at the password of an account, from an address, at a time (ms since 1970). */
export interface Attempt {
  account: Buffer
  email: string
  address: string
  at: number
}

const failuresInRow = 10
const lockMs = 15 * 60_000
const failuresADay = 100
const dayMs = 24 * 3_600_000

/**
 * Counts an attempt as failed, for its pair of account and address; the tenth in a row locks the pair. False, and
 * nothing is counted, while the pair is locked. As the system role.
 */
export async function countForPair(tx: Statements, { account, address, at }: Attempt): Promise<boolean> {
  const counted = await tx.maybeOneFirst(sql.type(failuresRow)`
    insert into login_attempts as a (account, address, failures, last_at)
    values (${sql.binary(account)}, ${address}, 1, ${instant(at)})
    on conflict (account, address) do update set
      failures = case when a.locked_until is null then a.failures + 1 else 1 end,
      locked_until = case when a.locked_until is null and a.failures + 1 >= ${failuresInRow}
                          then ${instant(at + lockMs)}::timestamptz end,
      last_at = excluded.last_at
    where a.locked_until is null or a.locked_until <= ${instant(at)}
    returning failures`)
  return counted !== null
}

/**
 * Counts an attempt against the daily limit of its account. False, and nothing is counted, if that is used up and the
 * person has never signed in from the address. As the system role.
 */
export async function countForAccount(
  tx: Statements,
  { account, email, address, at }: Attempt,
): Promise<boolean> {
  const counted = await tx.maybeOneFirst(sql.type(failuresRow)`
    insert into account_attempts as a (account, failures, window_ends_at)
    values (${sql.binary(account)}, 1, ${instant(at + dayMs)})
    on conflict (account) do update set
      failures = case when a.window_ends_at <= ${instant(at)} then 1 else a.failures + 1 end,
      window_ends_at = case when a.window_ends_at <= ${instant(at)} then excluded.window_ends_at else a.window_ends_at end
    where a.failures < ${failuresADay} or a.window_ends_at <= ${instant(at)}
      or has_signed_in_from(${email}, ${address})
    returning failures`)
  return counted !== null
}

/** When the lock of a pair ends, in ms since 1970. As the system role. */
export function pairLockEnds(tx: Tx, { account, address }: Attempt): Promise<number | null> {
  return tx.maybeOneFirst(sql.type(ending)`
    select locked_until as ends from login_attempts
    where account = ${sql.binary(account)} and address = ${address}`)
}

/** When the day of an account ends, in ms since 1970. As the system role. */
export function accountLockEnds(tx: Tx, { account }: Attempt): Promise<number | null> {
  return tx.maybeOneFirst(sql.type(ending)`
    select window_ends_at as ends from account_attempts where account = ${sql.binary(account)}`)
}

const ending = z.object({ ends: z.number().nullable() })

/** Takes back an attempt that was right, and resets the failures in a row from its address. As the system role. */
export function clearPair(tx: Tx, attempt: Attempt): void {
  tx.later(sql.unsafe`
    delete from login_attempts where account = ${sql.binary(attempt.account)} and address = ${attempt.address}`)
  uncountForAccount(tx, attempt)
}

/** Takes back an attempt whose password was not compared. As the system role. */
export function uncountAttempt(tx: Tx, attempt: Attempt): void {
  uncountForPair(tx, attempt)
  uncountForAccount(tx, attempt)
}

/** Takes back what {@link countForPair} counted. As the system role. */
export function uncountForPair(tx: Tx, { account, address }: Attempt): void {
  const pair = sql.fragment`account = ${sql.binary(account)} and address = ${address}`
  tx.later(sql.unsafe`delete from login_attempts where ${pair} and failures <= 1`)
  tx.later(sql.unsafe`
    update login_attempts set failures = failures - 1,
      locked_until = case when failures > ${failuresInRow} then locked_until end
    where ${pair}`)
}

/** Takes back what {@link countForAccount} counted. As the system role. */
export function uncountForAccount(tx: Tx, { account, at }: Attempt): void {
  tx.later(sql.unsafe`
    update account_attempts set failures = greatest(failures - 1, 0)
    where account = ${sql.binary(account)} and window_ends_at > ${instant(at)}`)
}

/** Ends every lock of an account and deletes its failures. As the system role. */
export async function clearAttempts(tx: Tx, account: Buffer): Promise<void> {
  tx.later(sql.unsafe`delete from login_attempts where account = ${sql.binary(account)}`)
  tx.later(sql.unsafe`delete from account_attempts where account = ${sql.binary(account)}`)
}

/** Where a person signs in: `address` as a limit counts it, and the SHA-256 of the user agent. */
interface Place {
  userId: string
  address: string
  device: Buffer
}

const historyRow = z.object({ isKnownPlace: z.boolean(), hasMaxSessions: z.boolean() })

/** Whether a person has signed in from a place before, and has `maxSessions` sessions. As the system role. */
export function findSignInHistory(
  tx: Read,
  { userId, address, device, maxSessions }: Place & { maxSessions: number },
): Promise<z.infer<typeof historyRow>> {
  return tx.one(sql.type(historyRow)`
    select exists (select 1 from sign_in_places
                   where user_id = ${userId} and address = ${address} and device = ${sql.binary(device)}) as "isKnownPlace",
           exists (select 1 from sessions where user_id = ${userId} and ended_at is null and kind <> 'grant'
                   offset ${maxSessions - 1}) as "hasMaxSessions"`)
}

/** Records a sign-in from a place that is known. As the system role. */
export async function touchSignInPlace(
  tx: Tx,
  { userId, address, device, at }: Place & { at: number },
): Promise<void> {
  tx.later(sql.unsafe`
    update sign_in_places set last_at = ${instant(at)}
    where user_id = ${userId} and address = ${address} and device = ${sql.binary(device)}`)
}

const placeRow = z.object({ is_new: z.boolean() })

// A place is a text of the client. Without a limit, each login could add one.
const maxPlaces = 100

/**
 * Records the address and device of a sign-in; returns whether the pair is new, and the person's first. Of more than {@link
 * maxPlaces}, the one that was used longest ago is forgotten. As the system role.
 */
export async function recordSignInPlace(
  tx: Tx,
  place: Place & { at: number },
): Promise<{ is_new: boolean; is_first: boolean }> {
  const [hasOther, { is_new }] = await Promise.all([
    tx.exists(sql.unsafe`select 1 from sign_in_places where user_id = ${place.userId}`),
    tx.one(sql.type(placeRow)`
    insert into sign_in_places (user_id, address, device, first_at, last_at)
    values (${place.userId}, ${place.address}, ${sql.binary(place.device)}, ${instant(place.at)}, ${instant(place.at)})
    on conflict (user_id, address, device) do update set last_at = excluded.last_at
    returning xmax = 0 as is_new`),
  ])
  tx.later(sql.unsafe`
    delete from sign_in_places where user_id = ${place.userId} and (address, device) in (
      select address, device from sign_in_places where user_id = ${place.userId}
      order by last_at desc, first_at desc, address, device offset ${maxPlaces})`)
  return { is_new, is_first: !hasOther }
}

/** Calls of this process since it last shared them, by key of their window, which ends at `expire` (ms since 1970). */
export interface Calls {
  key: string
  points: number
  expire: number
}

const callsRow = z.object({ key: z.string(), points: z.number() })

/** Adds calls to those of all processes; returns the sums by key. Sort the keys, to avoid deadlocks. As the system role. */
export function addCalls(tx: Tx, calls: readonly Calls[]): Promise<readonly z.infer<typeof callsRow>[]> {
  return tx.any(sql.type(callsRow)`
    insert into rate_limits as l (key, points, expire)
    select * from ${sql.unnest(
      calls.map(({ key, points, expire }) => [key, points, expire]),
      ['text', 'int4', 'int8'],
    )} as fresh (key, points, expire)
    on conflict (key) do update set points = l.points + excluded.points
    returning key, points`)
}

/** Deletes expired counters; `at` is in ms since 1970. As the system role. */
export async function deleteExpiredCounters(tx: Tx, at: number): Promise<void> {
  tx.later(sql.unsafe`delete from login_attempts where last_at < ${instant(at - 7 * dayMs)}`)
  tx.later(sql.unsafe`delete from account_attempts where window_ends_at < ${instant(at)}`)
  tx.later(sql.unsafe`delete from mail_senders where window_ends_at < ${instant(at)}`)
  tx.later(sql.unsafe`delete from rate_limits where expire < ${at}`)
}

/** A client for rate-limiter-flexible, which sends its own statements to the table rate_limits: one per use, atomic. */
export const rateLimitClient = (db: Pick<Databases, 'system'>) => ({
  query: ({ text, values }: { text: string; values: (string | number | null)[] }) =>
    writeAsSystem(db, 'limits apply before a tenant is known', (statements) =>
      statements.query({ ...sql.unsafe``, sql: text, values }),
    ),
})

/** Deletes the addresses and devices that a person signed in from. As the system role. */
export async function deleteSignInPlaces(tx: Tx, userId: string): Promise<void> {
  tx.later(sql.unsafe`delete from sign_in_places where user_id = ${userId}`)
}

/** A mail from a sender to a recipient (both as keys) at a time (ms since 1970), in a window that ends at `until`. */
interface Mailing {
  sender: string
  recipient: string
  max: number
  at: number
  until: number
}

/**
 * Counts a recipient for a sender, each recipient once in a window of at most `max`; false, and nothing is counted, if
 * that is used up. As the system role.
 */
export async function countRecipient(
  tx: Tx,
  { sender, recipient, max, at, until }: Mailing,
): Promise<boolean> {
  const counted = await tx.maybeOne(sql.type(senderRow)`
    insert into mail_senders as m (sender, recipients, window_ends_at)
    values (${sender}, ${sql.array([recipient], 'text')}, ${instant(until)})
    on conflict (sender) do update set
      recipients = case when m.window_ends_at <= ${instant(at)} then excluded.recipients
                        when ${recipient} = any(m.recipients) then m.recipients
                        else m.recipients || excluded.recipients end,
      window_ends_at = case when m.window_ends_at <= ${instant(at)} then excluded.window_ends_at
                            else m.window_ends_at end
    where m.window_ends_at <= ${instant(at)} or ${recipient} = any(m.recipients)
      or cardinality(m.recipients) < ${max}
    returning m.sender`)
  return counted !== null
}

/** When the window of a sender ends, in ms since 1970. As the system role. */
export function senderWindowEnds(tx: Tx, sender: string): Promise<number> {
  return tx.oneFirst(sql.type(endsRow)`
    select window_ends_at as ends from mail_senders where sender = ${sender}`)
}

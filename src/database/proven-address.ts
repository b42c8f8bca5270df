import { sql } from './executor/transaction.ts'

/**
 * Whether the address that the person `u` has at present is proven by their account: src/identity/users/address-store.ts
 * says what that means. `u` is `users`; of a membership `m` it is `m.email_verified`.
 */
export const isProven = sql.fragment`u.email_verified`

/**
 * Whether the membership `m` of the person `u` is from before the first proof of their address, and they have not entered
 * the tenant since: another person can have begun it. Both are joined.
 */
export const isFromBefore = sql.fragment`((m.joined_at <= u.first_proof_at) is true and m.last_entered_at is null)`

import { sql } from './transaction.ts'

/**
 * Whether the address that the person `u` has at present is proven by their account: src/identity/users/proven-address-store.ts
 * says what that means. `u` is `users`; false without a person.
 */
export const isProven = sql.fragment`(u.email_verified_at is not null)`

import { isUuid } from '../../crypto/uuid.ts'
import type { Config } from '../../settings/config.ts'
import type { Answer, Statement } from './flush.ts'
import { type Pool, statementNamed } from './pool.ts'

/** The tenant and user whose rows a transaction sees. Row-level security compares both with each row. */
export interface Scope {
  tenantId: string
  userId: string
  /** Who acts as the user. Every audit row and event of the transaction names them. */
  impersonator?: { id: string; email: string } | null
}

/** How a pool sends statements. */
export type Sending = Pick<Pool, 'prepared' | 'distributed'>

/** How pools send statements to the database of these settings. */
export const sendingOf = (config: Config): Sending => ({
  prepared: config.DATABASE_PREPARED_STATEMENTS,
  distributed: config.DATABASE_DISTRIBUTED,
})

const setScope = `select set_config('app.tenant_id', $1, true), set_config('app.user_id', $2, true)`
const readScope = `select current_setting('app.tenant_id'), current_setting('app.user_id')`
const setActor = (first: number) =>
  `, set_config('app.impersonator_id', $${first}, true), set_config('app.impersonator_email', $${first + 1}, true)`
const setScopeOfActor = setScope + setActor(3)
const readScopeOfActor = readScope + setActor(1)

/**
 * Sets the scope until the transaction ends. The last answer says what was set.
 *
 * Citus sends only `set local` to its nodes, and only inside a transaction block. That takes no parameters, so the ids
 * are checked and stand in the text. What an actor sets stays on the coordinator, which evaluates the defaults of columns.
 */
export function scopeStatements(scope: Scope, { prepared, distributed }: Sending): Statement[] {
  const { tenantId, userId, impersonator } = scope
  const actor = impersonator ? [impersonator.id, impersonator.email] : []
  if (!distributed) {
    const named = impersonator
      ? statementNamed('scope of an actor', setScopeOfActor, prepared)
      : statementNamed('scope', setScope, prepared)
    return [{ ...named, values: [tenantId, userId, ...actor] }]
  }
  const named = impersonator
    ? statementNamed('spread scope of an actor', readScopeOfActor, prepared)
    : statementNamed('spread scope', readScope, prepared)
  return [setLocal('app.tenant_id', tenantId), setLocal('app.user_id', userId), { ...named, values: actor }]
}

/** Sets a parameter to an id until the transaction ends. Throws (a bug of ours) unless it is a UUID. */
export function setLocal(name: string, id: string): Statement {
  if (!isUuid(id)) throw new Error(`${name} is not a UUID`)
  return { name: '', text: `set local ${name} = '${id}'`, values: [] }
}

/** Null when the last answer to {@link scopeStatements} says that the scope was set as asked. */
export function scopeFault(scope: Scope | null, answer: Answer | undefined): Error | null {
  const [tenantId, userId, actorId] = answer?.rows[0] ?? []
  const names = !scope?.impersonator || actorId === scope.impersonator.id
  const isSet = !scope || (tenantId === scope.tenantId && userId === scope.userId && names)
  return isSet ? null : new Error('The scope was not set')
}

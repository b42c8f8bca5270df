import { ApiError } from '../../errors.ts'
import { resetFactors } from '../../identity/otp/reset-factors.ts'
import { eraseUser } from '../../identity/users/erase-user.ts'
import { type ActiveSet, setUserActive } from '../../identity/users/set-user-active.ts'
import { createLogger } from '../../observe/log.ts'
import { defineCommand, type Invocation, type Outcome, Refused, requestInfoOf } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { email, flag, id, Misuse, optional, type Values } from '../options.ts'
import { sealerOf, withPools } from '../with-database.ts'

const roles = ['system'] as const
/** The options that name one person. */
export const who = {
  email: optional('<address>', 'The e-mail address of the person', email),
  id: optional('<id>', 'The id of the person', id),
}
const confirmed = { ...who, yes: flag('Do not ask') }
const example = '--email ada@example.com'
const failure = 'failed, or there is no person with that address or id'

export const usersDeactivate = defineCommand({
  name: 'users:deactivate',
  about: 'Deactivate a person in every tenant: their sessions end at once, and logins fail',
  options: who,
  example,
  failure,
  roles,
  run: (call) => setActive(call, 'users:deactivate', false),
})

export const usersActivate = defineCommand({
  name: 'users:activate',
  about: 'Activate a person again: they can sign in, with the memberships they had',
  options: who,
  example,
  failure,
  roles,
  run: (call) => setActive(call, 'users:activate', true),
})

async function setActive(
  { config, options }: Invocation<typeof who>,
  command: string,
  active: boolean,
): Promise<Outcome> {
  const person = personOf(options)
  const switched = await withPools(config, roles, (db) =>
    setUserActive({ db, clock: Date.now }, requestInfoOf(command), { person, active }),
  )
  if (!switched) throw noSuchPerson()
  const { user, changed, sessionsEnded, ownerless } = switched
  return {
    data: { user, changed, sessions_ended: sessionsEnded, tenants_without_owner: ownerless },
    text: textOf(switched),
  }
}

function textOf({ user, changed, sessionsEnded, ownerless }: ActiveSet): string {
  const state = user.is_active ? 'active' : 'inactive'
  if (!changed) return `${user.email} was already ${state}`
  return [
    `${user.email} is ${state}`,
    ...(user.is_active ? [] : [`Sessions ended: ${sessionsEnded}`]),
    ...(ownerless.length > 0 ? [`Tenants without an active owner now: ${ownerless.join(', ')}`] : []),
  ].join('\n')
}

export const usersResetFactors = defineCommand({
  name: 'users:reset-factors',
  about: 'Remove all second factors of a person who lost them: their sessions end, and a mail informs them',
  options: confirmed,
  example: `${example} --yes`,
  failure,
  roles,
  async run({ config, options }) {
    const person = personOf(options)
    if (!options.yes)
      await assertConfirmed(
        'After this the password alone opens the account. Did you verify who asks for it?',
      )
    const done = await withPools(config, roles, (db, complete) => {
      const deps = { db, clock: Date.now, sealer: sealerOf(complete) }
      return resetFactors(deps, requestInfoOf('users:reset-factors'), person)
    })
    if (!done) throw noSuchPerson()
    const { user, removed, sessionsEnded } = done
    return {
      data: { user, removed, sessions_ended: sessionsEnded },
      text: `${user.email}: removed ${removed.join(', ') || 'nothing'}. Sessions ended: ${sessionsEnded}`,
    }
  },
})

export const usersErase = defineCommand({
  name: 'users:erase',
  about: 'Erase a person for good: personal data is deleted everywhere, logs keep only the id',
  options: confirmed,
  example: `${example} --yes`,
  failure:
    'failed, there is no person with that address or id, or they are the only owner of a tenant with other members',
  roles,
  async run({ config, options }) {
    const person = personOf(options)
    if (!options.yes)
      await assertConfirmed('Erase this person, and every tenant in which they are the only member?')
    const erased = await withPools(config, roles, (db) =>
      eraseUser(
        { db, clock: Date.now, log: createLogger('silent', false) },
        { person, by: 'operator', requestInfo: requestInfoOf('users:erase') },
      ),
    ).catch((error) => {
      if (error instanceof ApiError && error.code === 'last_owner')
        throw new Refused('last_owner', error.message)
      throw error
    })
    if (!erased) throw noSuchPerson()
    const { id: userId, tenantsDeleted, tenantsLeft } = erased
    return {
      data: { id: userId, tenants_deleted: tenantsDeleted, tenants_left: tenantsLeft },
      text: `${userId} is erased. Tenants deleted: ${tenantsDeleted.join(', ') || 'none'}. Memberships removed in other tenants: ${tenantsLeft}. Workers remove the person from the logs within the hour.`,
    }
  },
})

/** The person that {@link who} names; a misuse unless it is one. */
export function personOf({ email, id }: Values<typeof who>): { email: string } | { id: string } {
  if (email !== undefined && id === undefined) return { email }
  if (id !== undefined && email === undefined) return { id }
  throw new Misuse('Name one person: give either --email or --id.')
}

export const noSuchPerson = () => new Refused('not_found', 'There is no person with that address or id.')

import type { Config } from '../../config.ts'
import { type ActiveSet, setUserActive } from '../../identity/users/set-user-active.ts'
import { defineCommand, type Outcome, Refused } from '../command.ts'
import { email, id, Misuse, optional, type Values } from '../options.ts'
import { originOf } from '../request-info.ts'
import { withPools } from '../with-database.ts'

const options = {
  email: optional('<address>', 'Who, by address', email),
  id: optional('<id>', 'Who, by id', id),
}

const roles = ['system'] as const
const failure = 'it failed, or there is nobody of that address or id'

export const usersDeactivate = defineCommand({
  name: 'users:deactivate',
  about: 'Switch a person off in every tenant: their sessions end at once, and no login succeeds',
  options,
  example: '--email ada@example.com',
  failure,
  roles,
  run: ({ config, options }) => switchUser(config, 'users:deactivate', options, false),
})

export const usersActivate = defineCommand({
  name: 'users:activate',
  about: 'Switch a person on again: they can log in, and what they belonged to is theirs again',
  options,
  example: '--email ada@example.com',
  failure,
  roles,
  run: ({ config, options }) => switchUser(config, 'users:activate', options, true),
})

async function switchUser(
  config: Config,
  command: string,
  { email, id }: Values<typeof options>,
  active: boolean,
): Promise<Outcome> {
  const person = email === undefined ? id !== undefined && { id } : id === undefined && { email }
  if (!person) throw new Misuse('Name one person, by --email or by --id.')
  const switched = await withPools(config, roles, (db) =>
    setUserActive({ db, clock: Date.now }, originOf(command), { person, active }),
  )
  if (!switched) throw new Refused('not_found', 'There is nobody of that address or id.')
  const { user, changed, sessionsEnded, ownerless } = switched
  return {
    data: { user, changed, sessions_ended: sessionsEnded, tenants_without_owner: ownerless },
    text: textOf(switched),
  }
}

function textOf({ user, changed, sessionsEnded, ownerless }: ActiveSet): string {
  const state = user.is_active ? 'active' : 'inactive'
  if (!changed) return `${user.email} was ${state} already`
  return [
    `${user.email} is ${state}`,
    ...(user.is_active ? [] : [`Sessions ended: ${sessionsEnded}`]),
    ...(ownerless.length > 0 ? [`Tenants without an active owner now: ${ownerless.join(', ')}`] : []),
  ].join('\n')
}

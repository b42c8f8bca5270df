import { eraseUser } from '../../identity/users/erase-user.ts'
import { ApiError } from '../../platform/errors.ts'
import { createLogger } from '../../platform/log.ts'
import { defineCommand, Refused } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { email, flag, id, Misuse, optional } from '../options.ts'
import { originOf } from '../request-info.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const

export const usersErase = defineCommand({
  name: 'users:erase',
  about: 'Erase a person for good: what identifies them goes everywhere, logs keep the id alone',
  options: {
    email: optional('<address>', 'Who, by address', email),
    id: optional('<id>', 'Who, by id', id),
    yes: flag('Do not ask'),
  },
  example: '--email ada@example.com --yes',
  failure:
    'it failed, there is nobody of that address or id, or others belong to a tenant that they alone own',
  roles,
  async run({ config, options: { email, id, yes } }) {
    const person = email === undefined ? id !== undefined && { id } : id === undefined && { email }
    if (!person) throw new Misuse('Name one person, by --email or by --id.')
    if (!yes) await assertConfirmed('Erase this person, with every tenant that nobody else belongs to?')
    const log = createLogger('silent', false)
    const erased = await withPools(config, roles, (db) =>
      eraseUser(
        { db, clock: Date.now, log },
        { person, by: 'operator', requestInfo: originOf('users:erase') },
      ),
    ).catch((error) => {
      if (error instanceof ApiError && error.code === 'last_owner')
        throw new Refused('last_owner', error.message)
      throw error
    })
    if (!erased) throw new Refused('not_found', 'There is nobody of that address or id.')
    const { id: userId, tenantsDeleted, tenantsLeft } = erased
    return {
      data: { id: userId, tenants_deleted: tenantsDeleted, tenants_left: tenantsLeft },
      text: `${userId} is erased. Tenants deleted: ${tenantsDeleted.join(', ') || 'none'}. Tenants left: ${tenantsLeft}. Workers scrub the logs within the hour.`,
    }
  },
})

import { type Config, roleUrls } from '../../config.ts'
import { randomPassword } from '../../development/seed.ts'
import { type Admin, type AdminAsked, createAdmin } from '../../identity/admins/create-admin.ts'
import { chosenPassword, personName } from '../../identity/person.ts'
import { createPasswordHasher } from '../../platform/crypto/passwords.ts'
import { invalidField } from '../../platform/errors.ts'
import { tenantName } from '../../tenancy/tenants/tenant-schemas.ts'
import { withAdvisoryLock } from '../advisory-lock.ts'
import { defineCommand, type Outcome } from '../command.ts'
import { sealerOf } from '../keys.ts'
import { email, flag, Misuse, optional, readSecret, required } from '../options.ts'
import { originOf } from '../request-info.ts'
import { withPools } from '../with-database.ts'

const roles = ['api', 'system'] as const

const options = {
  email: required('<address>', 'Who', email),
  tenant: optional(
    '<tenant>',
    'Name of the tenant to found, or slug, id or name of one there is; unless given, one they own, or one named after them',
    matching(tenantName),
  ),
  'first-name': optional('<name>', 'Of somebody new', matching(personName)),
  'last-name': optional('<name>', 'Of somebody new', matching(personName)),
  'password-stdin': flag('Read the password from stdin; unless given, one is generated and printed once'),
  yes: flag('Make them an owner of a tenant there is'),
}

export const adminCreate = defineCommand({
  name: 'admin:create',
  about: 'See to it that a verified person owns a tenant, making both where they are missing',
  options,
  example: '--email ada@example.com --tenant "Analytical Engines"',
  failure:
    'it failed, or a rule refuses it: a weak password, a tenant of others without --yes, a deactivated person',
  roles,
  async run({ config, options }) {
    const given = options['password-stdin'] ? await readSecret() : undefined
    const password = passwordFor(given)
    const admin = await make(config, {
      email: options.email,
      firstName: options['first-name'] ?? '',
      lastName: options['last-name'] ?? '',
      tenant: options.tenant,
      password: password.choose,
      takeOver: options.yes,
    })
    return outcomeOf(admin, given !== undefined, password.generated())
  },
})

async function make(given: Config, asked: AdminAsked): Promise<Admin> {
  const passwords = await createPasswordHasher()
  return withPools(given, roles, (db, config) => {
    const deps = { config, db, passwords, sealer: sealerOf(config), clock: Date.now }
    const { system } = roleUrls(config, roles)
    return withAdvisoryLock(system, () => createAdmin(deps, originOf('admin:create'), asked))
  })
}

/** What stdin gave, by the rules for passwords, or one of 144 bits; `generated` tells the latter once it was asked for. */
function passwordFor(given: string | undefined) {
  let made: string | undefined
  return {
    generated: () => made,
    async choose() {
      if (given === undefined) {
        made = randomPassword(18)
        return made
      }
      const { error } = chosenPassword.safeParse(given)
      if (error) throw invalidField('password', error.issues[0]!.message)
      return given
    },
  }
}

function outcomeOf(admin: Admin, given: boolean, generated: string | undefined): Outcome {
  const { user, tenant } = admin
  const set = user.outcome !== 'found'
  const password = !set
    ? `Password  as it was${given ? '; the one from stdin is not used' : ''}`
    : generated === undefined
      ? 'Password  the one from stdin'
      : `Password  ${generated}   (shown once)`
  return {
    data: { user, tenant, password_set: set, ...(generated !== undefined && { password: generated }) },
    text: [
      `Person    ${user.email}  ${user.id}  ${people[user.outcome]}`,
      `Tenant    ${tenant.slug}  ${tenant.id}  ${tenants[tenant.outcome]}`,
      password,
    ].join('\n'),
  }
}

const people = {
  created: 'created, verified',
  secured: 'was registered but never verified: verified now, with a new password, and its sessions ended',
  found: 'was there',
}
const tenants = { created: 'founded, theirs', joined: 'was there, theirs now, too', found: 'was theirs' }

/** A reader of an option by the schema that the API has for it. */
function matching(schema: {
  safeParse(text: string): { data?: string; error?: { issues: { message: string }[] } }
}) {
  return (text: string): string => {
    const { data, error } = schema.safeParse(text)
    if (data === undefined) throw new Misuse(`is refused: ${error?.issues[0]?.message}`)
    return data
  }
}

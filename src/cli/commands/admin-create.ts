import { createPasswordHasher } from '../../crypto/passwords.ts'
import { withConnection } from '../../database/executor/with-connection.ts'
import { invalidField } from '../../errors.ts'
import { type Admin, type AdminRequest, createAdmin } from '../../identity/admins/create-admin.ts'
import { chosenPassword, personName } from '../../identity/person.ts'
import { openTenantSetUp } from '../../installation/manifests/set-up-tenant.ts'
import { type Config, roleUrls } from '../../settings/config.ts'
import { randomPassword } from '../../start/development/seed.ts'
import { tenantName } from '../../tenancy/tenants/tenant-schemas.ts'
import { defineCommand, type Outcome, requestInfoOf } from '../command.ts'
import { email, flag, Misuse, optional, readSecret, required } from '../options.ts'
import { sealerOf, withPools } from '../with-database.ts'

const roles = ['api', 'system'] as const

const options = {
  email: required('<address>', 'The e-mail address of the person', email),
  tenant: optional(
    '<tenant>',
    'Name of a new tenant, or slug, id or name of an existing one (default: a tenant they own, or a new one named after them)',
    matching(tenantName),
  ),
  'first-name': optional('<name>', 'First name, if the person is new', matching(personName)),
  'last-name': optional('<name>', 'Last name, if the person is new', matching(personName)),
  'password-stdin': flag('Read the password from stdin (default: generate one and print it once)'),
  yes: flag('Make the person an owner of an existing tenant'),
}

export const adminCreate = defineCommand({
  name: 'admin:create',
  about:
    'Make sure that a verified person owns a tenant; creates the person and the tenant if they are missing',
  options,
  example: '--email ada@example.com --tenant "Analytical Engines"',
  failure: 'failed, or refused: a weak password, a tenant of others without --yes, a deactivated person',
  roles,
  async run({ config, options }) {
    const given = options['password-stdin'] ? await readSecret() : undefined
    const password = passwordFor(given)
    const admin = await make(config, {
      email: options.email,
      firstName: options['first-name'] ?? '',
      lastName: options['last-name'] ?? '',
      tenant: options.tenant,
      password: password.get,
      takeOver: options.yes,
    })
    return outcomeOf(admin, given !== undefined, password.generated())
  },
})

async function make(given: Config, asked: AdminRequest): Promise<Admin> {
  const passwords = await createPasswordHasher()
  return withPools(given, roles, (db, config) => {
    const deps = {
      config,
      db,
      passwords,
      sealer: sealerOf(config),
      clock: Date.now,
      setUpTenant: openTenantSetUp(),
    }
    const { system } = roleUrls(config, roles)
    return withAdvisoryLock(system, () => createAdmin(deps, requestInfoOf('admin:create'), asked))
  })
}

const lockKey = 0x0bad3

/**
 * Lets one process at a time run `work` on a database, on any machine. Other processes wait, at most a minute. The lock
 * belongs to a transaction: a lock of a session could outlive this process in a connection pooler.
 */
const withAdvisoryLock = <T>(url: string, work: () => Promise<T>): Promise<T> =>
  withConnection(url, 'bailiwick-cli-turn', async (client) => {
    await client.query("begin; set local lock_timeout = '60s'")
    await client.query('select pg_advisory_xact_lock($1)', [lockKey])
    return work()
  })

/** The password from stdin, checked by the rules for passwords, or a generated one of 144 bits, made when first needed. */
function passwordFor(given: string | undefined) {
  let generated: string | undefined
  return {
    /** Undefined unless `get` has generated one. */
    generated: () => generated,
    async get() {
      if (given === undefined) {
        generated = randomPassword(18)
        return generated
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
    ? `Password  unchanged${given ? '; the one from stdin was not used' : ''}`
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
  secured: 'existed unverified: now verified, with a new password; its sessions were ended',
  found: 'existed',
}
const tenants = {
  created: 'created, they own it',
  joined: 'existed, they are now an owner',
  found: 'existed, they owned it',
}

/** A reader of an option that uses the schema of the API. */
function matching(schema: {
  safeParse(text: string): { data?: string; error?: { issues: { message: string }[] } }
}) {
  return (text: string): string => {
    const { data, error } = schema.safeParse(text)
    if (data === undefined) throw new Misuse(`is refused: ${error?.issues[0]?.message}`)
    return data
  }
}

import { createPasswordHasher } from '../../crypto/passwords.ts'
import { asSystem, asWorker } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { setPassword } from '../../identity/admins/set-password.ts'
import { type DescribedPerson, describePerson } from '../../identity/users/describe-person.ts'
import { listPeopleNamed, type UserRow } from '../../identity/users/store.ts'
import { openTenantSetUp } from '../../installation/manifests/set-up-tenant.ts'
import { listMailsTo, type MailTo } from '../../messages/mail/mail-store.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { randomPassword } from '../../start/development/seed.ts'
import { defineCommand, Refused, requestInfoOf } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { anyText, defaulted, email, flag, required, wholeNumber } from '../options.ts'
import { inColumns } from '../printable.ts'
import { sealerOf, withPools } from '../with-database.ts'
import { noSuchPerson, personOf, who } from './users.ts'

const example = '--email ada@example.com'
const failure = 'failed, or there is no person with that address or id'
const shown = 20

export const usersFind = defineCommand({
  name: 'users:find',
  about:
    'Find people by the start of their address or of a name: id, address, name, state, when they registered',
  options: {
    search: required(
      '<text>',
      'How the address, the first or the last name starts, in any letter case',
      anyText,
    ),
    limit: defaulted('<n>', 'Maximum number of rows, up to 1000', wholeNumber(1, 1_000), 100),
  },
  example: '--search ada',
  roles: ['system'],
  run: ({ config, options: { search, limit }, say }) =>
    withPools(config, ['system'], async (db) => {
      const found = await asSystem(db, 'an operator looks at a person of any tenant', (tx) =>
        listPeopleNamed(tx, search, limit + 1),
      )
      const more = found.length > limit
      if (more) say(`There are more than ${limit}: --limit shows more.`)
      const people = found.slice(0, limit).map(toJsonPerson)
      const headings = ['id', 'email', 'verified', 'first name', 'last name', 'active', 'created']
      return { data: { people, more }, text: inColumns(headings, people.map(Object.values)) }
    }),
})

const toJsonPerson = ({ id, email, email_verified_at, first_name, last_name, ...user }: UserRow) => ({
  id,
  email,
  email_verified: email_verified_at !== null,
  first_name,
  last_name,
  is_active: user.is_active,
  created_at: rfc3339(user.date_joined),
})

export const usersShow = defineCommand({
  name: 'users:show',
  about: 'Show a person: tenants, second factors, sessions, and the last mails to their address',
  options: who,
  example,
  failure,
  roles: ['system', 'worker'],
  run: ({ config, options }) =>
    withPools(config, ['system', 'worker'], async (db, complete) => {
      const person = await describePerson({ db, clock: Date.now }, personOf(options))
      if (!person) throw noSuchPerson()
      const hashes = sealerOf(complete).macs('mail-recipient', person.user.email)
      const mails = await asWorker(db, (tx) => listMailsTo(tx, hashes, shown))
      const data = { ...toJsonDescribed(person), mails: mails.map(toJsonMail) }
      return { data, text: textOf(data) }
    }),
})

const toJsonDescribed = ({ user, memberships, factors, waysIn, sessions }: DescribedPerson) => ({
  ...toJsonPerson(user),
  tenants: memberships.map((one) => ({
    id: one.tenant_id,
    slug: one.tenant_slug,
    status: one.tenant_status,
    membership: one.membership_status,
    roles: one.roles,
  })),
  factors: [
    ...(factors?.passkey ? ['passkey'] : []),
    ...(factors?.totp ? ['totp'] : []),
    ...(factors && factors.recovery_codes > 0 ? ['recovery_codes'] : []),
  ],
  api_keys: waysIn.keys,
  sessions: sessions.live,
  last_login_at: sessions.last_begun_at && rfc3339(sessions.last_begun_at),
})

function textOf({
  tenants,
  mails,
  ...person
}: ReturnType<typeof toJsonDescribed> & { mails: object[] }): string {
  const facts = Object.entries(person).map(([name, value]) => [name, [value].flat().join(', ') || '–'])
  return [
    inColumns(['', ''], facts).trim(),
    inColumns(['tenant', 'slug', 'status', 'membership', 'roles'], tenants.map(Object.values)),
    ...(mails.length > 0 ? [inColumns(mailHeadings, mails.map(Object.values))] : ['No mails.']),
  ].join('\n\n')
}

const mailHeadings = ['mail', 'tenant', 'template', 'status', 'attempts', 'created', 'sent']

const toJsonMail = ({ id, tenant_id, template, status, attempts, created_at, sent_at }: MailTo) => ({
  id,
  tenant_id,
  template,
  status,
  attempts,
  created_at: rfc3339(created_at),
  sent_at: sent_at && rfc3339(sent_at),
})

export const mailsList = defineCommand({
  name: 'mails:list',
  about: 'List the mails to an address, latest first, with their state: pending, sending, sent, failed',
  options: {
    to: required('<address>', 'The recipient', email),
    limit: defaulted('<n>', 'Maximum number of rows, up to 1000', wholeNumber(1, 1_000), 100),
  },
  example: '--to ada@example.com',
  roles: ['worker'],
  run: ({ config, options: { to, limit } }) =>
    withPools(config, ['worker'], async (db, complete) => {
      const hashes = sealerOf(complete).macs('mail-recipient', to)
      const mails = (await asWorker(db, (tx) => listMailsTo(tx, hashes, limit))).map(toJsonMail)
      const text = inColumns(mailHeadings, mails.map(Object.values))
      return {
        data: { mails },
        text: mails.length > 0 ? text : 'There is no record of a mail to this address.',
      }
    }),
})

export const adminPassword = defineCommand({
  name: 'admin:password',
  about:
    'Give a person a new password, printed once, as a reset by mail does: sessions and API keys end, and a mail informs them',
  options: { ...who, yes: flag('Do not ask') },
  example: `${example} --yes`,
  failure: `${failure}, or they belong to no tenant`,
  roles: ['api', 'system'],
  async run({ config, options }) {
    const person = personOf(options)
    if (!options.yes)
      await assertConfirmed('Replace the password of this person? Did you verify who asks for it?')
    const passwords = await createPasswordHasher()
    const password = randomPassword(18)
    const changed = await withPools(config, ['api', 'system'], (db, complete) => {
      const sealer = sealerOf(complete)
      const deps = { db, clock: Date.now, sealer, passwords, setUpTenant: openTenantSetUp() }
      return setPassword(deps, requestInfoOf('admin:password'), { person, password })
    }).catch((error) => {
      throw error instanceof ApiError ? new Refused(error.code, error.message) : error
    })
    if (!changed) throw noSuchPerson()
    const { user, tenantFault } = changed
    const warning = tenantFault
      ? `\nNo tenant of their own could be made: ${tenantFault.message}. Add them to one.`
      : ''
    return { data: { user, password }, text: `${user.email}\nPassword  ${password}   (shown once)${warning}` }
  },
})

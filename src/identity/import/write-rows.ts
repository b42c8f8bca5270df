import { unusableHash } from '../../crypto/passwords.ts'
import { foreignKeyViolation, uniqueViolation } from '../../database/executor/database-errors.ts'
import { asSystem, inTenant, sqlState, type Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { insertMembers } from '../../tenancy/members/bulk-store.ts'
import { nameMember } from '../../tenancy/members/name-member.ts'
import { insertMember } from '../../tenancy/members/store.ts'
import { createPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { resetPassword } from '../auth/reset-password.ts'
import { totpContext } from '../otp/check-totp.ts'
import { insertTotp } from '../otp/store.ts'
import { createFreshTenant } from '../sign-in/create-own-tenant.ts'
import { insertUsers } from '../users/store.ts'
import { type ImportRow, LineFault } from './import-row.ts'
import { assertImportable, type ImportDeps, type KnownRow } from './known-row.ts'
import { type Given, recordMemberships, recordPeople } from './record-import.ts'
import { type Account, recordImported } from './store.ts'

/**
 * `created`: a new account. `joined`: an account that proved its address; only its memberships came. `secured`: an account
 * that did not, which starts anew. `known`: imported before.
 */
export type Outcome = 'created' | 'joined' | 'secured' | 'known'

/** Writes one row by what is known of it now. Throws {@link LineFault} for what changed since the first pass. */
export async function writeRow(deps: ImportDeps, given: Given, row: KnownRow): Promise<Outcome> {
  try {
    return await writeAlone(deps, given, row)
  } catch (error) {
    throw faultFor(row.line, error)
  }
}

function faultFor(line: number, error: unknown): unknown {
  const isOvertaken = [uniqueViolation, foreignKeyViolation].includes(sqlState(error))
  if (isOvertaken)
    return new LineFault(line, 'line', 'what it names changed meanwhile. Run the import again', 'overtaken')
  if (error instanceof ApiError && error.status < 500)
    return new LineFault(line, error.code === 'key_taken' ? 'external_id' : 'line', error.message, error.code)
  return error
}

async function writeAlone(deps: ImportDeps, given: Given, row: KnownRow): Promise<Outcome> {
  const { joinings, imported, account } = row
  assertImportable(row)
  if (imported) {
    await join(deps, given, row, imported.user_id, imported.memberships)
    return 'known'
  }
  if (!account) {
    const userId =
      joinings.length > 0 ? (await writeNew(deps, given, [row]))[0]! : await writeFounder(deps, given, row)
    await join(deps, given, row, userId, 1)
    return 'created'
  }
  if (!account.isProven) await secure(deps, given, row, account)
  await join(deps, given, row, account.id, 0)
  return account.isProven ? 'joined' : 'secured'
}

const newUser = ({ row }: KnownRow, at: number) => ({
  id: timeOrderedId(at),
  email: row.email,
  passwordHash: row.password_hash ?? unusableHash(),
  firstName: row.first_name,
  lastName: row.last_name,
  isVerified: row.email_verified,
  at,
})

/** Writes new people with the first of their memberships, which are all in one tenant, in one transaction. Gives their ids. */
export async function writeNew(
  deps: ImportDeps,
  given: Given,
  rows: readonly KnownRow[],
): Promise<readonly string[]> {
  const at = deps.clock()
  const tenantId = rows[0]!.joinings[0]!.tenantId
  const people = rows.map((row) => ({
    ...newUser(row, at),
    memberId: timeOrderedId(at),
    row: row.row,
    joining: row.joinings[0]!,
  }))
  await inTenant(deps.db, { tenantId, userId: people[0]!.id }, async (tx) => {
    insertUsers(tx, people, (one) => writeOwn(deps, tx, given, one))
    const members = people.map((user) => ({
      id: user.memberId,
      user,
      roleIds: user.joining.roles.map(({ id }) => id),
    }))
    insertMembers(tx, { tenantId, members, at })
    await recordPeople(tx, given, { tenantId, people, at })
    await recordMemberships(tx, given, {
      tenantId,
      at,
      joined: people.map(({ id, memberId, joining }) => ({ userId: id, memberId, joining })),
    })
    await Promise.all(
      people.flatMap(({ memberId, joining: { externalId } }) =>
        externalId === null ? [] : [nameMember(tx, { tenantId, memberId, externalId })],
      ),
    )
  })
  return people.map(({ id }) => id)
}

/** A new person for whom the row names no tenant gets one of their own, as one who registers. */
async function writeFounder(deps: ImportDeps, given: Given, row: KnownRow): Promise<string> {
  const at = deps.clock()
  const tenantId = timeOrderedId(at)
  const person = newUser(row, at)
  await inTenant(deps.db, { tenantId, userId: person.id }, async (tx) => {
    insertUsers(tx, [{ ...person, row: row.row }], (one) => writeOwn(deps, tx, given, one))
    const { requestInfo } = given
    await createPersonalTenant(tx, deps, { id: tenantId, founder: person, bySystem: true, requestInfo, at })
    await recordPeople(tx, given, { tenantId, people: [person], at })
  })
  return person.id
}

/** What a row gives to the person alone. In the scope of the person. */
function writeOwn(
  deps: ImportDeps,
  tx: Tx,
  { source }: Given,
  { id: userId, row, at }: { id: string; row: ImportRow; at: number },
): void {
  writeTotp(deps, tx, userId, row, at)
  recordImported(tx, { source, key: row.id, email: row.email, userId, memberships: 1, at })
}

function writeTotp(
  { sealer }: ImportDeps,
  tx: Tx,
  userId: string,
  { totp_secret: secret }: ImportRow,
  at: number,
): void {
  if (secret === undefined) return
  const seal = (deviceId: string) => sealer.seal('totp', secret, totpContext(userId, deviceId))
  insertTotp(tx, { userId, seal, at })
}

/** Clears an account that did not prove its address, as at a first proof: it takes the row's password and factors. */
async function secure(deps: ImportDeps, given: Given, row: KnownRow, account: Account): Promise<void> {
  const at = deps.clock()
  const { requestInfo, source } = given
  const { id: userId, email } = account
  await asSystem(deps.db, 'an operator vouches for the address of an account', async (tx) => {
    const tenantId = row.joinings[0]?.tenantId ?? (await findFirstTenantOf(tx, userId))
    if (!tenantId)
      throw new LineFault(
        row.line,
        'memberships',
        'this address has an account without a tenant. Name one',
        'no_tenant',
      )
    const passwordHash = row.row.password_hash ?? unusableHash()
    const proof = await resetPassword(deps, tx, {
      person: account,
      passwordHash,
      tenantId,
      bySystem: true,
      requestInfo,
      at,
    })
    if (!proof?.isFirst)
      throw new LineFault(
        row.line,
        'email',
        'its account changed meanwhile. Run the import again',
        'overtaken',
      )
    writeTotp(deps, tx, userId, row.row, at)
    recordImported(tx, { source, key: row.row.id, email, userId, memberships: 0, at })
  })
  // The tenants from before can be those of the person who made the account.
  if (row.joinings.length === 0) await createFreshTenant(deps, account, requestInfo, at)
}

/** Writes the memberships of a row from the one with this index on, each in a transaction, and records them. */
async function join(
  deps: ImportDeps,
  given: Given,
  { row, joinings, imported }: KnownRow,
  userId: string,
  from: number,
): Promise<void> {
  const at = deps.clock()
  const imported0 = { source: given.source, key: row.id, email: row.email, userId, at }
  if (joinings.length === 0 && from === 0 && !imported)
    await asSystem(deps.db, 'a row is recorded that gives nothing', async (tx) =>
      recordImported(tx, { ...imported0, memberships: 0 }),
    )
  for (const [index, joining] of joinings.entries()) {
    if (index < from) continue
    const { tenantId, roles, externalId } = joining
    await inTenant(deps.db, { tenantId, userId }, async (tx) => {
      const roleIds = roles.map(({ id }) => id)
      const member = { id: null, tenantId, userId, departmentId: null, roleIds, at }
      recordImported(tx, { ...imported0, memberships: index + 1 })
      const memberId = await insertMember(tx, member)
      if (memberId === null) return
      if (externalId !== null) await nameMember(tx, { tenantId, memberId, externalId })
      await recordMemberships(tx, given, { tenantId, at, joined: [{ userId, memberId, joining }] })
    })
  }
}

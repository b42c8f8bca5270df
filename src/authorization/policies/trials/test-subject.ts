import { nilUuid } from '../../../crypto/uuid.ts'
import { inTenant } from '../../../database/executor/transaction.ts'
import type { Deps } from '../../../deps.ts'
import { invalidField } from '../../../errors.ts'
import { type SystemRole, systemRoles } from '../../../policy-engine/catalogue/actions.ts'
import type { Caller } from '../../../request/caller.ts'
import { listRolesNamed } from '../../../tenancy/roles/store.ts'
import { isMemberType } from '../../evaluation/evaluation.ts'
import { findSubject } from '../../evaluation/name-subjects.ts'
import type { KnownSubject } from '../../evaluation/store.ts'
import { type Readable, readable, readableMember } from '../readable-parts.ts'

interface SubjectGiven {
  type?: string
  id?: string | undefined
  roles?: string[] | undefined
}

/**
 * The subject of a test: the caller, a member by a name of theirs as the caller could read them, or a fictitious member with
 * the given roles.
 */
export async function subjectOf(
  { db }: Deps,
  caller: Caller,
  subject: SubjectGiven | undefined,
  at: string,
): Promise<Readable<KnownSubject>> {
  const { tenantId } = caller
  const type = subject?.type ?? caller.auth.user.type
  const id = subject?.id ?? (subject?.roles ? null : caller.userId)
  const { known, roles } = await inTenant(db, caller, async (tx) => ({
    known: id === null || !isMemberType(type) ? null : await findSubject(tx, tenantId, { type, id }),
    roles: subject?.roles ? await listRolesNamed(tx, tenantId, subject.roles) : null,
  }))
  const { part, isWithheld } =
    id === null || !isMemberType(type)
      ? readable<KnownSubject>(null)
      : await readableMember({ db }, caller, type, known)
  if (!roles) return { part, isWithheld }
  if (roles.length < (subject?.roles?.length ?? 0))
    throw invalidField(`${at}subject.roles`, 'This tenant does not have all of these roles.', 'unknown')
  const systemNames = roles.filter((role) => role.is_system).map(({ name }) => name as SystemRole)
  const supposed: KnownSubject = part ?? {
    type: isMemberType(type) ? type : 'user',
    id: id ?? nilUuid,
    email: '',
    emailVerified: false,
    membership: { ...noMembership },
  }
  const withRoles = {
    ...supposed,
    membership: {
      ...supposed.membership,
      systemRoles: systemRoles.filter((name) => systemNames.includes(name)),
      roleIds: roles.map((role) => role.id),
      roles: roles.map((role) => role.name),
      permissions: roles.flatMap((role) => (role.is_system ? [] : role.permissions)),
    },
  }
  return { part: withRoles, isWithheld: (name) => name !== 'subject.roles' && isWithheld(name) }
}

const noMembership: KnownSubject['membership'] = {
  id: nilUuid,
  status: 'active',
  systemRoles: [],
  roleIds: [],
  roles: [],
  permissions: [],
  departmentId: null,
  joinedAt: 0,
}

import { isDeepStrictEqual } from 'node:util'
import { isUuid } from '../../crypto/uuid.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { validationError } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { attributeFaults } from '../../tenancy/members/check-attributes.ts'
import { auditedMember } from '../../tenancy/members/member-schemas.ts'
import { recordMemberChange } from '../../tenancy/members/record-member-change.ts'
import { changeMember, findMember, listSubjectAttributes } from '../../tenancy/members/store.ts'
import type { Json } from '../resource/attribute-value.ts'
import { bailiwickUrn, enterpriseUrn } from '../schema/attributes.ts'
import { ownValues } from '../schema/own-attributes.ts'
import { findDepartmentNamed, findPersonOf } from './facts-store.ts'

/** What a directory says of a person in the organisation: policies read it of a member. */
interface Facts {
  departmentId: string | null
  managerId: string | null
  attributes: Record<string, unknown>
}

const saidIn = (document: Json) => ({
  department: document[enterpriseUrn]?.department as string | undefined,
  manager: document[enterpriseUrn]?.manager?.value as string | undefined,
  own: (document[bailiwickUrn] ?? {}) as Record<string, unknown>,
})

/**
 * What a User's document says in terms of the tenant. A department and a manager whom the tenant does not have, and a manager who is the
 * member, are none. 400 `validation_error` for a value that its definition does not allow.
 */
export async function factsOf(tx: Tx, tenantId: string, id: string, document: Json): Promise<Facts> {
  const { department, manager, own } = saidIn(document)
  const isSaid = Object.keys(own).length > 0
  const [departmentId, managerId, definitions] = await Promise.all([
    department ? findDepartmentNamed(tx, tenantId, department) : null,
    manager && manager !== id && isUuid(manager) ? findPersonOf(tx, tenantId, manager) : null,
    isSaid ? listSubjectAttributes(tx, tenantId) : [],
  ])
  const attributes = ownValues(definitions, own)
  const optional = definitions.map((definition) => ({ ...definition, is_required: false }))
  const errors = attributeFaults(attributes, optional, 'Members')
  if (errors.length > 0) throw validationError(...errors)
  return { departmentId, managerId, attributes }
}

/** Attributes, whose names are compared without case. */
const byKey = (own: Record<string, unknown>) =>
  new Map(Object.entries(own).map(([key, value]) => [key.toLowerCase(), value]))

/**
 * Gives a member the department, the manager and the attributes that a directory changed; what people set otherwise stays. Both documents
 * are those of the User, `before` null if none of it was given to the member yet.
 */
export async function describeMember(
  tx: Tx,
  caller: Caller,
  id: string,
  { before, after }: { before: Json | null; after: Json },
  at: number,
): Promise<void> {
  const { tenantId } = caller
  const [was, is] = [saidIn(before ?? {}), saidIn(after)]
  if (isDeepStrictEqual(was, is)) return
  const [member, facts] = await Promise.all([findMember(tx, tenantId, id), factsOf(tx, tenantId, id, after)])
  if (!member) return
  const [old, now] = [byKey(was.own), byKey(is.own)]
  const isChanged = ([key]: [string, unknown]) =>
    !isDeepStrictEqual(old.get(key.toLowerCase()), now.get(key.toLowerCase()))
  const kept = Object.entries(member.attributes).filter((entry) => !isChanged(entry))
  const given = Object.entries(facts.attributes).filter(isChanged)
  const changed = {
    ...member,
    department_id: was.department === is.department ? member.department_id : facts.departmentId,
    manager_id: was.manager === is.manager ? member.manager_id : facts.managerId,
    attributes: Object.fromEntries([...kept, ...given]),
  }
  const changes = changesBetween(auditedMember(member), auditedMember(changed))
  if (Object.keys(changes).length === 0) return
  const { status, attributes, department_id: departmentId, manager_id: managerId } = changed
  changeMember(tx, { tenantId, id, status, attributes, departmentId, managerId, at })
  await recordMemberChange(tx, caller, at, member, { what: 'changed', action: 'member:update', changes })
}

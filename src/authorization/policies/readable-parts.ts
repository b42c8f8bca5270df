import { readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { SubjectType } from '../../policy-engine/evaluate/query.ts'
import type { Caller } from '../../request/caller.ts'
import { findAccount } from '../../tenancy/members/account-store.ts'
import { memberResource } from '../../tenancy/members/member-schemas.ts'
import { findMember } from '../../tenancy/members/store.ts'
import { accountResource } from '../../tenancy/service-accounts/account-schemas.ts'
import type { RegisteredObject } from '../evaluation/find-objects.ts'
import type { KnownSubject } from '../evaluation/store.ts'
import { findRegistered, registeredKey } from '../resources/find-registered.ts'
import { registrationResource } from '../resources/resource-schemas.ts'
import { findResource } from '../resources/store.ts'

/**
 * A stored part of an evaluation, or null if its asker could not read it by the route of its detail. Then it is left out of the
 * evaluation: the outcome for it would reveal it, too. One that does not exist is answered like one that the asker could not
 * read.
 */
export interface Readable<Part> {
  part: Part | null
  /** Whether an attribute, such as `subject.email`, was left out. */
  isWithheld(attribute: string): boolean
}

type Access = Pick<Deps, 'db'>

/** A member of this type, null for an unknown one, as the caller could read them. */
export async function readableMember(
  { db }: Access,
  caller: Caller,
  type: SubjectType,
  known: KnownSubject | null,
): Promise<Readable<KnownSubject>> {
  const { tenantId } = caller
  const resource = await readInTenant(db, caller, async (read) => {
    if (!known) return null
    const { id } = known.membership
    if (type === 'service_account') {
      const account = await findAccount(read, tenantId, id)
      return account && accountResource(account)
    }
    const member = await findMember(read, tenantId, id)
    return member && memberResource(member)
  })
  const reads = caller.readerBy(type === 'service_account' ? 'service_account:read' : 'member:list')
  return isWhole(reads(resource)) ? readable(known) : withheld((name) => name.startsWith('subject.'))
}

/** The registered resource of these names as the caller could read it. */
export async function readableResource(
  { db }: Access,
  caller: Caller,
  named: { type: string; id: string },
): Promise<Readable<RegisteredObject>> {
  const { tenantId } = caller
  const [found, row] = await readInTenant(db, caller, (read) =>
    Promise.all([
      findRegistered(read, tenantId, [named]),
      findResource(read, tenantId, { resource_type: named.type, resource_id: named.id }),
    ]),
  )
  const object = found.get(registeredKey(named)) ?? null
  const masked = caller.readerBy('registered_resource:list')(row && registrationResource(row))
  return isWhole(masked)
    ? readable(object)
    : withheld((name) => name.startsWith('resource.') && !given.has(name))
}

/** Returns whether the caller can read a policy as a whole. */
export function policyReader(caller: Caller) {
  const reads = caller.readerBy('policy:read')
  return ({ id, name, effect }: { id: string; name: string; effect: string }): boolean =>
    isWhole(reads({ type: 'policy', id, ownerId: null, fields: { name, effect } }))
}

/** What every evaluation says itself. */
const given: ReadonlySet<string> = new Set(['resource.type', 'resource.id'])

/** No policy can mask a field of these details yet. One that is masked would be withheld as a whole. */
const isWhole = (masked: readonly string[] | null) => masked?.length === 0

/** Nothing was left out. */
export const readable = <Part>(part: Part | null): Readable<Part> => ({ part, isWithheld: () => false })

const withheld = (isWithheld: (attribute: string) => boolean) => ({ part: null, isWithheld })

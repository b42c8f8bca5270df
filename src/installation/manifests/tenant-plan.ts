import { isDeepStrictEqual } from 'node:util'
import type { DefinitionRow } from '../../authorization/attributes/store.ts'
import { checksumOf } from '../../authorization/policies/compile-body.ts'
import type { PolicyRow } from '../../authorization/policies/store.ts'
import type { TenantRole } from '../../tenancy/roles/managed-role-store.ts'
import { roleNameKey } from '../../tenancy/roles/store.ts'
import type { ManagedDefinition, ManagedPolicy, ManagedRole } from './compile-manifest.ts'
import type { InstalledRules } from './store.ts'

// A tenant and the manifests are compared in memory. A tenant gets all changes of a revision in one transaction, or none:
// a conflict leaves it as it was, and the next run tries it again.

/** What a tenant has. */
export interface TenantState {
  roles: readonly TenantRole[]
  /** The ids of the managed roles that members have or the tenant's own policies name. */
  usedRoles: ReadonlySet<string>
  definitions: readonly DefinitionRow[]
  managedPolicies: readonly PolicyRow[]
}

/** Why a tenant cannot get a rule. */
export interface Conflict {
  code: 'role_name_taken' | 'attribute_taken' | 'attribute_type' | 'too_costly'
  /** In the manifest: a JSON Pointer. */
  pointer: string
  application: string
}

type Of<Wanted> = { application: string; wanted: Wanted }

/** Roles and attributes to write (`current` is null for new ones), and those that no manifest has any more. */
export interface NamesPlan {
  roles: (Of<ManagedRole> & { current: TenantRole | null })[]
  definitions: (Of<ManagedDefinition> & { current: DefinitionRow | null })[]
  removedRoles: TenantRole[]
  removedDefinitions: DefinitionRow[]
  conflicts: Conflict[]
}

/** Compares the roles and attributes. With `adopt` the tenant's own ones of the same name become managed. */
export function planNames({ manifests }: InstalledRules, state: TenantState, adopt: boolean): NamesPlan {
  const plan: NamesPlan = {
    roles: [],
    definitions: [],
    removedRoles: [],
    removedDefinitions: [],
    conflicts: [],
  }
  const kept = new Set<string>()
  const isDeclared = declaredRoles(manifests)
  for (const { application, compiled } of manifests) {
    for (const wanted of compiled.roles) {
      const found = roleFor(state, application, wanted, isDeclared, adopt)
      if (found === 'taken') {
        plan.conflicts.push(roleNameTaken(application, wanted))
        continue
      }
      if (found) kept.add(found.id)
      if (!found || !isSameRole(found, application, wanted))
        plan.roles.push({ application, wanted, current: found })
    }
    for (const wanted of compiled.attributes) {
      const found = state.definitions.find(
        ({ category, key }) => category === wanted.category && key === wanted.key,
      )
      const pointer = `/attributes/${wanted.category}.${wanted.key}`
      // Names are unique across the manifests, so it is the tenant's own or left the manifest of another application.
      if (found && found.managed_by !== application && !adopt)
        plan.conflicts.push({ application, code: 'attribute_taken', pointer })
      else if (found && found.data_type !== wanted.data_type)
        plan.conflicts.push({ application, code: 'attribute_type', pointer: `${pointer}/data_type` })
      if (found) kept.add(found.id)
      if (!found || !isSameDefinition(found, application, wanted))
        plan.definitions.push({ application, wanted, current: found ?? null })
    }
  }
  plan.removedRoles = state.roles.filter(({ id, managed_by }) => managed_by !== null && !kept.has(id))
  plan.removedDefinitions = state.definitions.filter(
    ({ id, managed_by }) => managed_by !== null && !kept.has(id),
  )
  if (plan.conflicts.length === 0) plan.conflicts.push(...namesKept(plan, state))
  return plan
}

type Declares = (role: TenantRole) => boolean

/** Tells whether the manifest that a role comes from still has its key. */
function declaredRoles(manifests: InstalledRules['manifests']): Declares {
  const keys = new Map(
    manifests.map(({ application, compiled }) => [
      application,
      new Set(compiled.roles.map(({ key }) => key)),
    ]),
  )
  return ({ managed_by, managed_as }) =>
    managed_by !== null && managed_as !== null && keys.get(managed_by)?.has(managed_as) === true
}

/** Whether the tenant has managed roles that left the manifests. */
export const hasLeftRoles = ({ manifests }: InstalledRules, roles: readonly TenantRole[]): boolean => {
  const isDeclared = declaredRoles(manifests)
  return roles.some((role) => role.managed_by !== null && !isDeclared(role))
}

/** The tenant's role that becomes a role of the manifest, null for a new one, or `taken` if another role keeps its name. */
function roleFor(
  { roles, usedRoles }: TenantState,
  application: string,
  { key, name }: ManagedRole,
  isDeclared: Declares,
  adopt: boolean,
): TenantRole | null | 'taken' {
  const byKey = roles.find((role) => role.managed_by === application && role.managed_as === key) ?? null
  const holder = roles.find(({ name_key }) => name_key === roleNameKey(name))
  // Names are unique across the manifests, so a declared role with this name gives it up in the same transaction.
  if (!holder || holder === byKey || isDeclared(holder)) return byKey
  // Only the key changed: the members keep the role.
  if (!byKey && holder.managed_by === application) return holder
  // It left the manifests and is deleted before names are written. One in use becomes the tenant's own.
  if (holder.managed_by !== null && !usedRoles.has(holder.id)) return byKey
  return adopt && !holder.is_system ? holder : 'taken'
}

const roleNameTaken = (application: string, { key }: ManagedRole): Conflict => ({
  application,
  code: 'role_name_taken',
  pointer: `/roles/${key}/name`,
})

/** The conflicts with roles in use whose place an adopted role takes: they become the tenant's own, with their names. */
const namesKept = ({ roles, removedRoles }: NamesPlan, { usedRoles }: TenantState): Conflict[] =>
  roles
    .filter(({ wanted, current }) =>
      removedRoles.some(
        ({ id, name_key }) =>
          id !== current?.id && usedRoles.has(id) && name_key === roleNameKey(wanted.name),
      ),
    )
    .map(({ application, wanted }) => roleNameTaken(application, wanted))

const isSameRole = (
  role: TenantRole,
  application: string,
  { key, name, description, permissions }: ManagedRole,
) =>
  isDeepStrictEqual(
    [role.managed_by, role.managed_as, role.name, role.description, [...role.permissions]],
    [application, key, name, description, permissions],
  )

/** Where values come from. Manifests that were applied before this was declared do not say it. */
export const sourceOf = ({ source }: ManagedDefinition) => source ?? 'registered'

const isSameDefinition = (row: DefinitionRow, application: string, wanted: ManagedDefinition) =>
  row.managed_by === application &&
  isDeepStrictEqual(
    [row.display_name, row.allowed_values, row.is_required, row.description, row.source],
    [wanted.display_name, wanted.allowed_values, wanted.is_required, wanted.description, sourceOf(wanted)],
  )

/** A policy of a manifest in the form of one tenant: with the ids of its roles, turned on or off as it chose. */
export type TenantPolicy = Pick<ManagedPolicy, 'fields' | 'rules' | 'compiled' | 'module'> & {
  application: string
  key: string
  optional: boolean
  checksum: string
  current: PolicyRow | null
}

const kindOf = ({ module }: ManagedPolicy): PolicyRow['kind'] => (module ? 'rego' : 'json')

/**
 * The policies to write, and those that no manifest has any more. `roles` are the tenant's after its names are changed. A
 * tenant can have missed the version that removed a policy, and get its key with another kind: then this is a new policy.
 */
export function planPolicies(
  { manifests }: InstalledRules,
  state: Pick<TenantState, 'managedPolicies'>,
  roles: readonly Pick<TenantRole, 'id' | 'name_key'>[],
): { written: TenantPolicy[]; removed: PolicyRow[] } {
  const ids = new Map(roles.map(({ id, name_key }) => [name_key, id]))
  const wanted = manifests.flatMap(({ application, compiled }) =>
    compiled.policies.map((policy) => {
      const current =
        state.managedPolicies.find(
          ({ managed_by, managed_as, kind }) =>
            managed_by === application && managed_as === policy.key && kind === kindOf(policy),
        ) ?? null
      return inTenant(application, policy, current, ids)
    }),
  )
  const kept = new Set(wanted.map(({ current }) => current?.id))
  return {
    written: wanted.filter(
      ({ current, checksum, optional }) => current?.checksum !== checksum || current.is_optional !== optional,
    ),
    removed: state.managedPolicies.filter(({ id }) => !kept.has(id)),
  }
}

function inTenant(
  application: string,
  { key, optional, fields: given, rules: named, compiled: byName, module }: ManagedPolicy,
  current: PolicyRow | null,
  ids: ReadonlyMap<string, string>,
): TenantPolicy {
  const idsOf = (names: readonly string[]) => names.map((name) => ids.get(name) ?? missing(name)).sort()
  const chosen = optional ? current?.chosen_active : null
  const fields = { ...given, is_active: chosen ?? given.is_active }
  const subjects = { ...named.subjects, roles: idsOf(named.subjects.roles) }
  const approval = named.approval && {
    ...named.approval,
    approver: { roles: idsOf(named.approval.approver.roles) },
  }
  const rules = { ...named, subjects, approval }
  const compiled = { ...byName, subjects, approval: byName.approval && approval }
  return {
    application,
    key,
    optional,
    fields,
    rules,
    compiled,
    ...(module && { module }),
    checksum: checksumOf({ ...fields, ...rules }),
    current,
  }
}

function missing(name: string): never {
  throw new Error(`A policy of a manifest names the role ${name}, which the tenant does not have`)
}

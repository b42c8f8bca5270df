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
  for (const { application, compiled } of manifests) {
    const keys = new Set(compiled.roles.map(({ key }) => key))
    for (const wanted of compiled.roles) {
      const found = roleFor(state.roles, application, wanted, keys)
      if (found && found.managed_by !== application && !(adopt && isOwn(found)))
        plan.conflicts.push({ application, code: 'role_name_taken', pointer: `/roles/${wanted.key}/name` })
      if (found) kept.add(found.id)
      if (!found || !isSameRole(found, application, wanted))
        plan.roles.push({ application, wanted, current: found ?? null })
    }
    for (const wanted of compiled.attributes) {
      const found = state.definitions.find(
        ({ category, key }) => category === wanted.category && key === wanted.key,
      )
      const pointer = `/attributes/${wanted.category}.${wanted.key}`
      if (found && found.managed_by !== application && !(adopt && found.managed_by === null))
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
  return plan
}

/** The tenant's role for a role of the manifest: with its key, or with its name if that one's key is gone. */
function roleFor(
  roles: readonly TenantRole[],
  application: string,
  { key, name }: ManagedRole,
  keys: ReadonlySet<string>,
): TenantRole | undefined {
  const own = roles.filter(({ managed_by }) => managed_by === application)
  const sameName = roles.find(({ name_key }) => name_key === roleNameKey(name))
  // A role that gives up this name in the same manifest is no obstacle.
  const isRenamed = sameName?.managed_by === application && keys.has(sameName.managed_as ?? '')
  return own.find(({ managed_as }) => managed_as === key) ?? (isRenamed ? undefined : sameName)
}

const isOwn = ({ managed_by, is_system }: TenantRole) => managed_by === null && !is_system

const isSameRole = (
  role: TenantRole,
  application: string,
  { key, name, description, permissions }: ManagedRole,
) =>
  isDeepStrictEqual(
    [role.managed_by, role.managed_as, role.name, role.description, [...role.permissions]],
    [application, key, name, description, permissions],
  )

const isSameDefinition = (row: DefinitionRow, application: string, wanted: ManagedDefinition) =>
  row.managed_by === application &&
  isDeepStrictEqual(
    [row.display_name, row.allowed_values, row.is_required, row.description],
    [wanted.display_name, wanted.allowed_values, wanted.is_required, wanted.description],
  )

/** A policy of a manifest in the form of one tenant: with the ids of its roles, turned on or off as it chose. */
export type TenantPolicy = Pick<ManagedPolicy, 'fields' | 'rules' | 'compiled'> & {
  application: string
  key: string
  optional: boolean
  checksum: string
  current: PolicyRow | null
}

/** The policies to write, and those that no manifest has any more. `roles` are the tenant's after its names are changed. */
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
          ({ managed_by, managed_as }) => managed_by === application && managed_as === policy.key,
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
  { key, optional, fields: given, rules: named, compiled: byName }: ManagedPolicy,
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
    checksum: checksumOf({ ...fields, ...rules }),
    current,
  }
}

function missing(name: string): never {
  throw new Error(`A policy of a manifest names the role ${name}, which the tenant does not have`)
}

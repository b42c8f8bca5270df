import { isDeepStrictEqual } from 'node:util'
import type { DefinitionRow } from '../../authorization/attributes/store.ts'
import type { PolicyRow } from '../../authorization/policies/store.ts'
import { withoutCase } from '../../policy-engine/catalogue/attribute-keys.ts'
import { roleNameKey, type TenantRole } from '../../tenancy/roles/store.ts'
import type { ManagedDefinition, ManagedRole } from './compile-manifest.ts'
import type { InstalledRules } from './store.ts'

// A tenant and the manifests are compared in memory. A conflict keeps back the rule that it concerns, and the policies that
// need this rule: the tenant keeps their earlier versions. It gets all other changes, and the next run tries the rest again.

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
  code: 'role_name_taken' | 'attribute_taken' | 'attribute_type' | 'needs_conflicting' | 'too_costly'
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
  /** What policies cannot use: the names of roles (`roleNameKey`), and attributes of another type. */
  unusable: { roles: ReadonlySet<string>; attributes: ReadonlySet<string> }
}

/** Compares the roles and attributes. With `adopt` the tenant's own ones of the same name become managed. */
export function planNames(rules: InstalledRules, state: TenantState, adopt: boolean): NamesPlan {
  const roles = planRoles(rules, state, adopt)
  const definitions = planDefinitions(rules, state, adopt)
  return {
    roles: roles.written,
    definitions: definitions.written,
    removedRoles: roles.removed,
    removedDefinitions: definitions.removed,
    conflicts: [...roles.conflicts, ...definitions.conflicts],
    unusable: { roles: roles.unusable, attributes: definitions.unusable },
  }
}

function planRoles({ manifests }: InstalledRules, state: TenantState, adopt: boolean) {
  const isDeclared = declaredRoles(manifests)
  const wanted = manifests.flatMap(({ application, compiled }) =>
    compiled.roles.map((wanted) => ({
      application,
      wanted,
      current: roleFor(state, application, wanted, isDeclared, adopt),
    })),
  )
  const kept = new Set(wanted.map(({ current }) => current?.id))
  const removed = state.roles.filter(({ id, managed_by }) => managed_by !== null && !kept.has(id))
  const gone = new Set(removed.filter(({ id }) => !state.usedRoles.has(id)))
  const stays = state.roles.filter((role) => !gone.has(role))
  let written = wanted.filter(
    ({ application, wanted, current }) => !current || !isSameRole(current, application, wanted),
  )
  const blocked: typeof written = []
  // A role that is kept back keeps its earlier name, which can block another one.
  for (let isStable = false; !isStable; ) {
    const changing = new Set(written.map(({ current }) => current?.id))
    const names = new Set(stays.filter(({ id }) => !changing.has(id)).map(({ name_key }) => name_key))
    const isBlocked = ({ wanted }: (typeof written)[number]) => names.has(roleNameKey(wanted.name))
    blocked.push(...written.filter(isBlocked))
    isStable = !written.some(isBlocked)
    written = written.filter((role) => !isBlocked(role))
  }
  return {
    written,
    removed,
    conflicts: blocked.map(({ application, wanted }) => roleNameTaken(application, wanted)),
    unusable: new Set(blocked.map(({ wanted }) => roleNameKey(wanted.name))),
  }
}

function planDefinitions({ manifests }: InstalledRules, state: TenantState, adopt: boolean) {
  const kept = new Set<string>()
  const written: NamesPlan['definitions'] = []
  const conflicts: Conflict[] = []
  const unusable = new Set<string>()
  for (const { application, compiled } of manifests)
    for (const wanted of compiled.attributes) {
      const name = `${wanted.category}.${wanted.key}`
      const holder = state.definitions.find(
        ({ category, key }) => category === wanted.category && withoutCase(key) === withoutCase(wanted.key),
      )
      const found = holder?.key === wanted.key ? holder : undefined
      if (found) kept.add(found.id)
      const pointer = `/attributes/${name}`
      const isOtherCase = holder !== found
      const isOtherType = found !== undefined && found.data_type !== wanted.data_type
      if (isOtherCase || isOtherType) unusable.add(name)
      // Names are unique across the manifests, so it is the tenant's own or left the manifest of another application.
      if (isOtherCase || (found && found.managed_by !== application && !adopt))
        conflicts.push({ application, code: 'attribute_taken', pointer })
      else if (isOtherType)
        conflicts.push({ application, code: 'attribute_type', pointer: `${pointer}/data_type` })
      else if (!found || !isSameDefinition(found, application, wanted))
        written.push({ application, wanted, current: found ?? null })
    }
  const removed = state.definitions.filter(({ id, managed_by }) => managed_by !== null && !kept.has(id))
  return { written, removed, conflicts, unusable }
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

/** The tenant's role that becomes a role of the manifest; null for a new one. Another role can have its name nevertheless. */
function roleFor(
  { roles, usedRoles }: TenantState,
  application: string,
  { key, name }: ManagedRole,
  isDeclared: Declares,
  adopt: boolean,
): TenantRole | null {
  const byKey = roles.find((role) => role.managed_by === application && role.managed_as === key) ?? null
  const holder = roles.find(({ name_key }) => name_key === roleNameKey(name))
  // Names are unique across the manifests, so a declared role with this name gives it up in the same transaction.
  if (!holder || holder === byKey || isDeclared(holder)) return byKey
  // Only the key changed: the members keep the role.
  if (!byKey && holder.managed_by === application) return holder
  // It left the manifests and is deleted before names are written. One in use becomes the tenant's own.
  if (holder.managed_by !== null && !usedRoles.has(holder.id)) return byKey
  return adopt && !holder.is_system ? holder : byKey
}

const roleNameTaken = (application: string, { key }: ManagedRole): Conflict => ({
  application,
  code: 'role_name_taken',
  pointer: `/roles/${key}/name`,
})

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

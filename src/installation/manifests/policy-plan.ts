import { checksumOf } from '../../authorization/policies/compile-body.ts'
import type { PolicyRow } from '../../authorization/policies/store.ts'
import type { TenantRole } from '../../tenancy/roles/store.ts'
import type { ManagedPolicy } from './compile-manifest.ts'
import type { InstalledRules } from './store.ts'
import type { Conflict, NamesPlan, TenantState } from './tenant-plan.ts'

/** A policy of a manifest in the form of one tenant: with the ids of its roles, turned on or off as it chose. */
export type TenantPolicy = Pick<ManagedPolicy, 'fields' | 'rules' | 'compiled' | 'module'> & {
  application: string
  key: string
  optional: boolean
  checksum: string
  current: PolicyRow | null
}

const kindOf = ({ module }: ManagedPolicy): PolicyRow['kind'] => (module ? 'rego' : 'json')

/** Denials come first, where not all policies fit. */
const order = { deny: 0, require_approval: 1, allow: 2 }

/**
 * The policies to write, and those that no manifest has any more. `roles` are the tenant's after its names are changed;
 * policies that need what is `unusable` are kept back. A tenant can have missed the version that removed a policy, and get
 * its key with another kind: then this is a new policy.
 */
export function planPolicies(
  { manifests }: InstalledRules,
  state: Pick<TenantState, 'managedPolicies'>,
  roles: readonly Pick<TenantRole, 'id' | 'name_key'>[],
  unusable: NamesPlan['unusable'],
): { written: TenantPolicy[]; removed: PolicyRow[]; conflicts: Conflict[] } {
  const ids = new Map(roles.map(({ id, name_key }) => [name_key, id]))
  const wanted = manifests.flatMap(({ application, compiled }) =>
    compiled.policies.map((policy) => ({
      application,
      policy,
      current:
        state.managedPolicies.find(
          ({ managed_by, managed_as, kind }) =>
            managed_by === application && managed_as === policy.key && kind === kindOf(policy),
        ) ?? null,
    })),
  )
  const kept = new Set(wanted.map(({ current }) => current?.id))
  const isKeptBack = ({ policy }: (typeof wanted)[number]) => needs(policy, unusable)
  return {
    written: wanted
      .filter((one) => !isKeptBack(one))
      .map(({ application, policy, current }) => inTenant(application, policy, current, ids))
      .filter(
        ({ current, checksum, optional }) =>
          current?.checksum !== checksum || current.is_optional !== optional,
      )
      .sort((one, other) => order[one.fields.effect] - order[other.fields.effect]),
    removed: state.managedPolicies.filter(({ id }) => !kept.has(id)),
    conflicts: wanted.filter(isKeptBack).map(({ application, policy: { key } }) => ({
      application,
      code: 'needs_conflicting',
      pointer: `/policies/${key}`,
    })),
  }
}

/** Whether a policy names a role, or reads an attribute, that the tenant does not have as the manifest has it. */
function needs({ rules, compiled }: ManagedPolicy, { roles, attributes }: NamesPlan['unusable']): boolean {
  const named = [...rules.subjects.roles, ...(rules.approval?.approver.roles ?? [])]
  return (
    named.some((name) => roles.has(name)) ||
    Object.keys(compiled.attributes).some((name) => attributes.has(name))
  )
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

import {
  changeDefinition,
  deleteDefinition,
  insertDefinition,
  listDefinitions,
} from '../../authorization/attributes/store.ts'
import {
  deleteOldVersions,
  deletePolicy,
  insertPolicy,
  insertVersion,
  listManagedPolicies,
  type NewPolicy,
  replacePolicy,
} from '../../authorization/policies/store.ts'
import { nilUuid } from '../../crypto/uuid.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockManifestRevision, setManifestRevision } from '../../database/revisions.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import {
  changeManagedRole,
  deleteUnusedRole,
  freeNames,
  insertManagedRole,
  listTenantRoles,
  listUsedRoles,
  releaseRole,
  roleNameKey,
} from '../../tenancy/roles/store.ts'
import { findUnmeasured, type Measured, nameOf, type Unmeasured } from './costly-policies.ts'
import { planWebhooks, writeWebhooks } from './give-webhooks.ts'
import { fromManifest } from './manifest-modules.ts'
import { planPolicies, type TenantPolicy } from './policy-plan.ts'
import { recordRules } from './record-rules.ts'
import type { InstalledRules } from './store.ts'
import {
  type Conflict,
  hasLeftRoles,
  type NamesPlan,
  planNames,
  sourceOf,
  type TenantState,
} from './tenant-plan.ts'

/** A tenant that gets rules. `at` in ms since 1970; `maxVersions` is the number of versions kept of each policy. */
export interface Recipient {
  tenantId: string
  requestInfo: RequestInfo
  at: number
  maxVersions: number
}

/**
 * How a tenant got its rules; `unmeasured`: not yet, because its policies have to be measured together before. `kept`: roles and attributes that left the manifests, are in use, and are now its own. With
 * conflicts it stays behind the revision: it has all other rules.
 */
export type Given =
  | { outcome: 'current' }
  | ({ outcome: 'unmeasured' } & Unmeasured)
  | { outcome: 'changed' | 'unchanged'; kept: number; conflicts: readonly Conflict[] }

/**
 * Brings a tenant to the rules of the manifests, in a transaction of its scope. A conflict keeps back its rule alone. With
 * `adopt` the tenant's own roles and attributes of the same names become managed; with `dryRun` nothing is written.
 */
export async function giveRules(
  tx: Tx,
  rules: InstalledRules,
  recipient: Recipient,
  {
    adopt = false,
    dryRun = false,
    measured,
  }: { adopt?: boolean; dryRun?: boolean; measured?: Measured } = {},
): Promise<Given> {
  const { tenantId } = recipient
  const known = await lockManifestRevision(tx, tenantId)
  if (known === null || known >= rules.revision) return { outcome: 'current' }
  const state = await readState(tx, tenantId, { rules, adopt })
  const names = planNames(rules, state, adopt)
  const roles = rolesAfter(recipient, names, state)
  const planned = planPolicies(rules, state, roles, names.unusable)
  const webhooks = await planWebhooks(tx, tenantId, rules)
  const unmeasured = await findUnmeasured(tx, tenantId, planned, measured)
  if (unmeasured) return { outcome: 'unmeasured', ...unmeasured }
  const isCostly = (policy: TenantPolicy) => measured?.costly.has(nameOf(policy)) ?? false
  const costly = planned.written.filter(isCostly)
  const policies = { ...planned, written: planned.written.filter((policy) => !isCostly(policy)) }
  const conflicts = [...names.conflicts, ...planned.conflicts, ...costly.map(tooCostly)]
  const isChanged =
    [names.roles, names.definitions, names.removedRoles, names.removedDefinitions].some(isFilled) ||
    isFilled(policies.written) ||
    isFilled(policies.removed) ||
    isFilled(webhooks.written) ||
    isFilled(webhooks.removed)
  if (dryRun) return { outcome: isChanged ? 'changed' : 'unchanged', kept: 0, conflicts }
  // Policies come before roles are removed, because earlier versions name these; both before names are written, because
  // a new or renamed role can take the name of one that leaves.
  await Promise.all([
    ...policies.removed.map(({ id }) => deletePolicy(tx, tenantId, id, null, recipient.at)),
    ...policies.written.map((policy) => writeManaged(tx, recipient, rules, policy)),
  ])
  const kept = await removeNames(tx, tenantId, names)
  await writeNames(tx, recipient, names, roles)
  await writeWebhooks(tx, recipient, webhooks)
  // The next run tries what was kept back again.
  const revision = conflicts.length > 0 ? known : rules.revision
  await setManifestRevision(tx, tenantId, { revision, isChanged })
  if (isChanged) await recordRules(tx, rules, recipient, { names, policies, webhooks, kept })
  return { outcome: isChanged ? 'changed' : 'unchanged', kept: kept.length, conflicts }
}

const tooCostly = ({ application, key }: TenantPolicy): Conflict => ({
  application,
  code: 'too_costly',
  pointer: `/policies/${key}`,
})

const isFilled = (list: readonly unknown[]) => list.length > 0

// Statements that are asked for together share a round trip.
async function readState(
  tx: Tx,
  tenantId: string,
  { rules, adopt }: { rules: InstalledRules; adopt: boolean },
): Promise<TenantState> {
  const [roles, definitions, managedPolicies] = await Promise.all([
    listTenantRoles(tx, tenantId),
    listDefinitions(tx, tenantId),
    listManagedPolicies(tx, tenantId),
  ])
  // Only a role that leaves its place has to be known as used or not.
  const usedRoles = adopt || hasLeftRoles(rules, roles) ? await listUsedRoles(tx, tenantId) : []
  return { roles, usedRoles: new Set(usedRoles), definitions, managedPolicies }
}

type PlannedRole = NamesPlan['roles'][number]

/** The ids of the tenant's roles by name, with the ids that new ones will have. */
function rolesAfter({ at }: Recipient, names: NamesPlan, state: TenantState) {
  const renamed = new Set(names.roles.map(({ current }) => current?.id))
  return [
    ...state.roles.filter(({ id }) => !renamed.has(id)).map(({ id, name_key }) => ({ id, name_key })),
    ...names.roles.map((role) => ({
      id: role.current?.id ?? timeOrderedId(at),
      name_key: roleNameKey(role.wanted.name),
      role,
    })),
  ] as { id: string; name_key: string; role?: PlannedRole }[]
}

async function writeNames(
  tx: Tx,
  { tenantId, at }: Recipient,
  { roles, definitions }: NamesPlan,
  ids: ReturnType<typeof rolesAfter>,
): Promise<void> {
  const renamed = roles.filter(
    ({ current, wanted }) => current && current.name_key !== roleNameKey(wanted.name),
  )
  if (renamed.length > 0)
    await freeNames(
      tx,
      tenantId,
      renamed.map(({ current }) => current!.id),
    )
  const writeRole = ({ id, role }: (typeof ids)[number]) => {
    if (!role) return undefined
    const { wanted, application, current } = role
    const { key: managed_as, ...fields } = wanted
    const row = { ...fields, tenantId, id, managed_by: application, managed_as, at }
    return current ? changeManagedRole(tx, row) : insertManagedRole(tx, row)
  }
  const writeDefinition = async ({ wanted, application, current }: NamesPlan['definitions'][number]) => {
    const row = {
      ...wanted,
      source: sourceOf(wanted),
      id: current?.id ?? timeOrderedId(at),
      managed_by: application,
    }
    if (current) await changeDefinition(tx, tenantId, row)
    else insertDefinition(tx, tenantId, { ...row, at })
  }
  await Promise.all([...ids.map(writeRole), ...definitions.map(writeDefinition)])
}

async function writeManaged(
  tx: Tx,
  { tenantId, at, maxVersions }: Recipient,
  { manifests }: InstalledRules,
  { application, key, optional, current, fields, rules, compiled, checksum, module }: TenantPolicy,
): Promise<void> {
  const policy: NewPolicy = {
    tenantId,
    id: current?.id ?? timeOrderedId(at),
    version: (current?.version ?? 0) + 1,
    fields,
    rules,
    compiled,
    checksum,
    module: module ? fromManifest(module) : null,
    managed: {
      managed_by: application,
      managed_as: key,
      is_optional: optional,
      chosen_active: current?.chosen_active ?? null,
    },
    authorId: nilUuid,
    at,
  }
  if (!current) await insertPolicy(tx, policy)
  else replacePolicy(tx, policy)
  const version = manifests.find((manifest) => manifest.application === application)?.version
  await insertVersion(tx, policy, `Manifest of ${application}, version ${version}`)
  if (policy.version > maxVersions) await deleteOldVersions(tx, policy, maxVersions)
}

/** Deletes what left the manifests. What the tenant uses becomes its own; returns the names of that. */
async function removeNames(tx: Tx, tenantId: string, names: NamesPlan): Promise<string[]> {
  const kept: string[] = []
  for (const row of names.removedDefinitions) {
    if (await deleteDefinition(tx, tenantId, row.id)) continue
    await changeDefinition(tx, tenantId, { ...row, managed_by: null })
    kept.push(`${row.category}.${row.key}`)
  }
  for (const { id, name } of names.removedRoles) {
    if (await deleteUnusedRole(tx, tenantId, id)) continue
    await releaseRole(tx, tenantId, id)
    kept.push(name)
  }
  return kept
}

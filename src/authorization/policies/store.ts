import { z } from 'zod'
import { addToCount, countRows } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { noteLogged } from '../../database/log-quota.ts'
import { type Versions, versionAmong } from '../../database/version.ts'
import { byFlag, byText, byWord, defineList, type ListPage } from '../../lists/list.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'
import { type PolicyDocument, policyEffects } from '../../policy-engine/compile/policy-document.ts'
import { applicationName } from '../../request/body/schemas.ts'
import type { StoredModule } from './active-store.ts'

const numberRow = z.object({ version: z.number() })

/** The rules of a policy as stored, with roles as ids. The other parts are plain fields. Only the kind rego has a module. */
export type Rules = Pick<PolicyDocument, 'subjects' | 'conditions' | 'approval' | 'obligations' | 'module'>

/** The kind of stored rules. */
export const kindOf = ({ module }: Pick<Rules, 'module'>): 'json' | 'rego' =>
  module === undefined ? 'json' : 'rego'

const rules = z.custom<Rules>((value) => typeof value === 'object' && value !== null)

const policyRow = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string(),
  kind: z.enum(['json', 'rego']),
  effect: z.enum(policyEffects),
  resource_types: z.array(z.string()),
  actions: z.array(z.string()),
  rules,
  mode: z.enum(['enforce', 'shadow']),
  priority: z.number(),
  valid_from: z.number().nullable(),
  valid_until: z.number().nullable(),
  is_active: z.boolean(),
  version: z.number(),
  checksum: z.string(),
  managed_by: z.string().nullable(),
  managed_as: z.string().nullable(),
  is_optional: z.boolean(),
  chosen_active: z.boolean().nullable(),
  module_off_at: z.number().nullable(),
  created_by: z.uuid(),
  created_at: z.number(),
  updated_at: z.number(),
})

export type PolicyRow = z.infer<typeof policyRow>

const columns = sql.fragment`
  id, name, description, kind, effect, resource_types, actions, rules, mode, priority, valid_from, valid_until,
  is_active, version, checksum, managed_by, managed_as, is_optional, chosen_active, module_off_at, created_by,
  created_at, updated_at`

const name = z.string().min(1, 'Name what to look for.').max(127, 'This may have 127 characters at most.')

/** The policies of a tenant; `action` and `resource_type` as policies name them. */
export const policyList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: {
    created_at: { column: sql.fragment`created_at`, field: 'created_at' },
    name: { column: sql.fragment`name`, field: 'name' },
  },
  search: [{ column: sql.fragment`(lower(name) collate "C")`, reveals: ['name'] }],
  filters: {
    effect: byWord(sql.fragment`effect`, policyEffects),
    is_active: byFlag(sql.fragment`is_active`),
    mode: byWord(sql.fragment`mode`, ['enforce', 'shadow']),
    managed_by: byText(sql.fragment`managed_by`, applicationName, 'managed_by'),
    resource_type: {
      reveals: ['resource_types'],
      schema: name,
      where: (type) => sql.fragment`resource_types @> ${sql.array([type], 'text')}`,
    },
    action: {
      reveals: ['actions'],
      schema: name,
      where: (action) => sql.fragment`actions @> ${sql.array([action], 'text')}`,
    },
  },
})

/** A page of the tenant's policies. */
export function listPolicies(tx: Read, tenantId: string, page: ListPage): Promise<readonly PolicyRow[]> {
  return tx.any(sql.type(policyRow)`
    select ${columns} from policies where tenant_id = ${tenantId} ${page.tail}`)
}

/** The number of policies that pass the filters. */
export function countPolicies(tx: Read, tenantId: string, page?: ListPage): Promise<number> {
  if (!page?.filtered) return countRows(tx, tenantId, 'policies')
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from policies where tenant_id = ${tenantId} ${page.conditions}`)
}

/** The number of policies that the tenant made itself. */
export function countOwnPolicies(tx: Tx, tenantId: string): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from policies where tenant_id = ${tenantId} and managed_by is null`)
}

/** The policies that manifests gave the tenant. */
export function listManagedPolicies(tx: Tx, tenantId: string): Promise<readonly PolicyRow[]> {
  return tx.any(sql.type(policyRow)`
    select ${columns} from policies where tenant_id = ${tenantId} and managed_by is not null order by id`)
}

/** One policy of the tenant, or null. */
export function findPolicy(tx: Read, tenantId: string, id: string): Promise<PolicyRow | null> {
  return tx.maybeOne(sql.type(policyRow)`
    select ${columns} from policies where tenant_id = ${tenantId} and id = ${id}`)
}

/** The columns of a policy that a manifest gave the tenant; without one: null, null, false, null. */
export type Managed = Pick<PolicyRow, 'managed_by' | 'managed_as' | 'is_optional' | 'chosen_active'>

/** Of a policy of the tenant's own. */
export const unmanaged: Managed = {
  managed_by: null,
  managed_as: null,
  is_optional: false,
  chosen_active: null,
}

/** A version of a policy to write: its plain fields, its rules and its compiled form. */
export interface NewPolicy {
  tenantId: string
  id: string
  version: number
  fields: Omit<
    PolicyRow,
    | 'id'
    | 'rules'
    | 'kind'
    | 'module_off_at'
    | 'version'
    | 'checksum'
    | 'created_by'
    | 'created_at'
    | 'updated_at'
    | keyof Managed
  >
  rules: Rules
  compiled: CompiledPolicy
  checksum: string
  /** null unless it is of the kind rego */
  module: StoredModule | null
  managed: Managed
  authorId: string
  at: number
}

/** A policy as it is once it is written, in place of `current` if there is one. */
export const rowOf = (policy: NewPolicy, current: PolicyRow | null): PolicyRow => ({
  id: policy.id,
  ...policy.fields,
  rules: policy.rules,
  kind: policy.module ? 'rego' : 'json',
  version: policy.version,
  checksum: policy.checksum,
  ...policy.managed,
  module_off_at: null,
  created_by: current?.created_by ?? policy.authorId,
  created_at: current?.created_at ?? policy.at,
  updated_at: policy.at,
})

/** Inserts a policy of version 1. */
export async function insertPolicy(tx: Tx, policy: NewPolicy): Promise<void> {
  const { tenantId, id, fields: f, rules, compiled, checksum, managed: m, authorId } = policy
  const at = instant(policy.at)
  tx.later(sql.unsafe`
    insert into policies (tenant_id, id, name, description, kind, effect, resource_types, actions, rules, mode, priority,
                          valid_from, valid_until, is_active, version, checksum, compiled, managed_by, managed_as,
                          is_optional, chosen_active, created_by, created_at, updated_at)
    values (${tenantId}, ${id}, ${f.name}, ${f.description}, ${policy.module ? 'rego' : 'json'}, ${f.effect},
            ${sql.array(f.resource_types, 'text')}, ${sql.array(f.actions, 'text')}, ${jsonb(rules)}, ${f.mode}, ${f.priority}, ${instant(f.valid_from)},
            ${instant(f.valid_until)}, ${f.is_active}, ${policy.version}, ${checksum}, ${jsonb(compiled)},
            ${m.managed_by}, ${m.managed_as}, ${m.is_optional}, ${m.chosen_active}, ${authorId}, ${at}, ${at})`)
  addToCount(tx, tenantId, 'policies')
}

/** Locks a policy until the transaction ends; gives its version, or null if there is no such policy. */
export function lockPolicy(tx: Tx, tenantId: string, id: string): Promise<number | null> {
  return tx.maybeOneFirst(sql.type(numberRow)`
    select version from policies where tenant_id = ${tenantId} and id = ${id} for update`)
}

/** Replaces version `policy.version - 1` by this one. The caller has read that version behind a lock of the policy or its tenant. */
export function replacePolicy(tx: Tx, policy: NewPolicy): void {
  const { tenantId, id, fields: f, rules, compiled, checksum, managed: m } = policy
  tx.later(sql.unsafe`
    update policies set name = ${f.name}, description = ${f.description}, effect = ${f.effect},
      resource_types = ${sql.array(f.resource_types, 'text')}, actions = ${sql.array(f.actions, 'text')},
      rules = ${jsonb(rules)}, mode = ${f.mode}, priority = ${f.priority}, valid_from = ${instant(f.valid_from)},
      valid_until = ${instant(f.valid_until)}, is_active = ${f.is_active}, version = ${policy.version},
      checksum = ${checksum}, compiled = ${jsonb(compiled)}, module_off_at = null, is_optional = ${m.is_optional},
      chosen_active = ${m.chosen_active}, updated_at = ${instant(policy.at)}
    where tenant_id = ${tenantId} and id = ${id} and version = ${policy.version - 1}`)
}

const jsonb = (value: object) => sql.jsonb(value as never)

/** Deletes a policy if its version is one of these; returns the version, or null if nothing was deleted. */
export async function deletePolicy(
  tx: Tx,
  tenantId: string,
  id: string,
  versions: Versions,
  at: number,
): Promise<number | null> {
  const version = await tx.maybeOneFirst(sql.type(numberRow)`
    delete from policies where tenant_id = ${tenantId} and id = ${id} and ${versionAmong(sql.fragment`version`, versions)}
    returning version`)
  if (version === null) return null
  addToCount(tx, tenantId, 'policies', -1)
  tx.later(sql.unsafe`
    update policy_versions set deleted_at = ${sql.timestamp(new Date(at))}
    where tenant_id = ${tenantId} and policy_id = ${id}`)
  return version
}

/** Deletes at most `limit` versions of policies that were deleted before `before` (ms); returns how many. As the worker role. */
export async function deleteVersionsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from policy_versions where (tenant_id, id) in (
      select tenant_id, id from policy_versions where deleted_at < ${sql.timestamp(new Date(before))}
      order by deleted_at limit ${limit})`)
  return rowCount
}

const roleName = z.object({ id: z.uuid(), name: z.string() })

/** A role with the name that policies use. */
export type RoleName = z.infer<typeof roleName>

/** The tenant's roles by id and name. */
export function listRoleNames(tx: Read, tenantId: string): Promise<readonly RoleName[]> {
  return tx.any(sql.type(roleName)`
    select id, name from roles where tenant_id = ${tenantId} order by created_at, id`)
}

/** The whole document of one version, roles as ids. */
export type Source = NewPolicy['fields'] & Rules

const source = z.custom<Source>((value) => typeof value === 'object' && value !== null)

/** Appends a version to the history. Versions never change. */
export async function insertVersion(tx: Tx, policy: NewPolicy, reason: string): Promise<void> {
  const source = { ...policy.fields, ...policy.rules }
  noteLogged(tx, source, policy.module?.zipped)
  tx.later(sql.unsafe`
    insert into policy_versions (tenant_id, id, policy_id, version, source, checksum, author_id, reason, created_at,
                                 module_key, module_reads, module)
    values (${policy.tenantId}, ${timeOrderedId(policy.at)}, ${policy.id}, ${policy.version}, ${sql.jsonb(source as never)},
            ${policy.checksum}, ${policy.authorId}, ${reason}, ${sql.timestamp(new Date(policy.at))},
            ${policy.module?.key ?? null}, ${policy.module ? sql.jsonb(policy.module.attributes as never) : null},
            ${policy.module ? sql.binary(policy.module.zipped) : null})`)
}

const versionRow = z.object({
  id: z.uuid(),
  policy_id: z.uuid(),
  version: z.number(),
  source,
  checksum: z.string(),
  author_id: z.uuid(),
  author_email: z.string().nullable(),
  reason: z.string(),
  created_at: z.number(),
})

export type VersionRow = z.infer<typeof versionRow>

const versionColumns = sql.fragment`
  v.id, v.policy_id, v.version, v.source, v.checksum, v.author_id, m.email as author_email, v.reason, v.created_at`

/** The versions of a policy, newest first. */
export const versionList = defineList({
  id: { column: sql.fragment`v.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`v.created_at`, field: 'created_at' } },
  newestFirst: true,
})

/** A page of the versions of a policy. */
export function listVersions(
  tx: Read,
  tenantId: string,
  policyId: string,
  page: ListPage,
): Promise<readonly VersionRow[]> {
  return tx.any(sql.type(versionRow)`
    select ${versionColumns} from policy_versions v
    left join memberships m on m.tenant_id = ${tenantId} and m.user_id = v.author_id
    where v.tenant_id = ${tenantId} and v.policy_id = ${policyId} ${page.tail}`)
}

/** One version of a policy, deleted policies included, or null. */
export function findVersion(
  tx: Tx,
  tenantId: string,
  policyId: string,
  version: number,
): Promise<VersionRow | null> {
  return tx.maybeOne(sql.type(versionRow)`
    select ${versionColumns} from policy_versions v
    left join memberships m on m.tenant_id = ${tenantId} and m.user_id = v.author_id
    where v.tenant_id = ${tenantId} and v.policy_id = ${policyId} and v.version = ${version}`)
}

/** Deletes all but the newest `kept` versions of a policy, of which `version` is the newest. */
export async function deleteOldVersions(
  tx: Tx,
  { tenantId, id, version }: Pick<NewPolicy, 'tenantId' | 'id' | 'version'>,
  kept: number,
): Promise<void> {
  tx.later(sql.unsafe`
    delete from policy_versions
    where tenant_id = ${tenantId} and policy_id = ${id} and version <= ${version - kept}`)
}

/** How many active members have one of these roles. */
export async function countApprovers(
  read: Read,
  tenantId: string,
  roleIds: readonly string[],
): Promise<number> {
  const [row] = await read.any(sql.type(countRow)`
    select count(*) from memberships m
    where m.tenant_id = ${tenantId} and m.status = 'active' and m.is_active and exists (
      select 1 from membership_roles mr where mr.tenant_id = ${tenantId} and mr.membership_id = m.id
        and mr.role_id = any(${sql.array(roleIds, 'uuid')}))`)
  return row?.count ?? 0
}

const keyRow = z.object({ key: z.string(), having: z.number(), total: z.number() })

/**
 * How many active members a policy is about, and how many of them have each attribute, columns of members included. A
 * policy that names no subjects is about all.
 */
export async function countMembersWith(
  read: Read,
  tenantId: string,
  { roles, departments, users }: CompiledPolicy['subjects'],
  keys: readonly string[],
): Promise<{ total: number; having: Map<string, number> }> {
  const isAboutAll = roles.length + departments.length + users.length === 0
  const rows = await read.any(sql.type(keyRow)`
    select k.key, count(*) as total,
           count(*) filter (where m.attributes ? k.key
             or (k.key in ('department_id', 'department_path') and m.department_id is not null)
             or (k.key = 'manager_id' and m.manager_id is not null)) as having
    from memberships m cross join unnest(${sql.array(keys, 'text')}) as k (key)
    where m.tenant_id = ${tenantId} and m.status = 'active' and (${isAboutAll}
      or m.user_id = any(${sql.array(users, 'uuid')}) or m.department_id = any(${sql.array(departments, 'uuid')})
      or exists (select 1 from membership_roles mr where mr.tenant_id = ${tenantId} and mr.membership_id = m.id
        and mr.role_id = any(${sql.array(roles, 'uuid')})))
    group by k.key`)
  return { total: rows[0]?.total ?? 0, having: new Map(rows.map(({ key, having }) => [key, having])) }
}

/** The departments of the tenant among these ids. */
export async function listDepartmentsAmong(
  read: Read,
  tenantId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await read.any(sql.type(idRow)`
    select id from departments where tenant_id = ${tenantId} and id = any(${sql.array(ids, 'uuid')})`)
  return new Set(rows.map(({ id }) => id))
}

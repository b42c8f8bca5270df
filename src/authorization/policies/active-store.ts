import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { z } from 'zod'
import { type Read, readInTenant } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { type Databases, sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { revisionOf } from '../../database/revisions.ts'
import { decisionPace } from '../../limits/decision-time.ts'
import type { CompiledPolicy, SlicePolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Departments } from '../../policy-engine/compile/departments.ts'
import type { ModuleReads } from '../../policy-engine/compile/module-policy.ts'

const fields = z.object({
  id: z.uuid(),
  version: z.number(),
  name: z.string(),
  priority: z.number(),
  mode: z.enum(['enforce', 'shadow']),
  valid_from: z.number().nullable(),
  valid_until: z.number().nullable(),
  is_off: z.boolean().optional(),
  text: z.string().nullable(),
})

/** An active policy as it is read; `text` is its compiled form as JSON, null if the reader has it. */
type ActiveRow = z.infer<typeof fields>

const activeRow = z.union([
  fields.extend({ revision: z.number() }),
  z.object({ revision: z.number(), id: z.null() }),
])

/** An active policy as the engine needs it; `bytes` is the length of its compiled text. */
export type PolicyInStore = Omit<ActiveRow, 'text'> &
  Pick<SlicePolicy, 'wasm'> & { compiled: CompiledPolicy; bytes: number }

/** A tenant's active policies at one revision. */
export interface ActivePolicies<Policy = PolicyInStore> {
  tenantId: string
  revision: number
  policies: readonly Policy[]
}

/** A tenant's active policies with the departments and definitions that decisions read. */
export interface TenantPolicies<Policy = PolicyInStore> extends ActivePolicies<Policy> {
  /** the parent of each department */
  departments: Departments
  /** the keys of resource attributes that an evaluation can give beside those of a registered resource */
  callerKeys: ReadonlySet<string>
}

/** Policies that the reader has: a version of a policy never changes. */
export type KnownPolicies = readonly PolicyInStore[]

/** Reads the tenant's policies; `withCompiled` completes them. */
export async function readTenantPolicies(
  read: Read,
  tenantId: string,
  known: KnownPolicies,
): Promise<TenantPolicies<ActiveRow>> {
  // These are read second: they can be newer than the revision, but never older.
  const [active, others] = await Promise.all([
    listActivePolicies(read, tenantId, known),
    read.any(sql.type(otherRow)`
      select id::text as name, parent_id, true as is_department from departments where tenant_id = ${tenantId}
      union all
      select key, null, false from attribute_definitions
      where tenant_id = ${tenantId} and category = 'resource' and source = 'caller'`),
  ])
  const departments = others.filter(({ is_department }) => is_department)
  const keys = others.filter(({ is_department }) => !is_department)
  return {
    ...active,
    departments: new Map(departments.map(({ name, parent_id }) => [name, parent_id])),
    callerKeys: new Set(keys.map(({ name }) => name)),
  }
}

const otherRow = z.object({ name: z.string(), parent_id: z.uuid().nullable(), is_department: z.boolean() })

/** The tenant's active policies with their revision, read in one statement so that they are consistent. */
export async function listActivePolicies(
  read: Read,
  tenantId: string,
  known: KnownPolicies = [],
): Promise<ActivePolicies<ActiveRow>> {
  const rows = await read.any(sql.type(activeRow)`
    select ${revisionOf(read, tenantId)} as revision, p.id, p.version, p.name, p.priority, p.mode, p.valid_from, p.valid_until,
           case when k.id is null then p.compiled::text end as text, p.module_off_at is not null as is_off
    from tenants t left join policies p on p.tenant_id = t.id and p.is_active
    left join ${sql.unnest(
      known.map(({ id, version }) => [id, version]),
      ['uuid', 'int4'],
    )} as k (id, version) on k.id = p.id and k.version = p.version
    where t.id = ${tenantId}`)
  const [first] = rows
  if (!first) throw new Error('The tenant of the policies does not exist')
  return { tenantId, revision: first.revision, policies: rows.filter((row) => row.id !== null) }
}

/**
 * Parses the policies that are not `known`, a few in each turn of the event loop: a tenant can have 2 MiB of them. A known
 * one keeps its compiled form, and its module if it has one.
 */
export async function withCompiled<T extends ActivePolicies<ActiveRow>>(
  read: T,
  known: KnownPolicies = [],
): Promise<Omit<T, 'policies'> & { policies: PolicyInStore[] }> {
  const before = new Map(known.map((policy) => [policy.id, policy]))
  const pace = decisionPace(Number.POSITIVE_INFINITY)
  const policies: PolicyInStore[] = []
  for (const { text, ...row } of read.policies) {
    await pace.next()
    const { compiled, bytes, wasm } = text === null ? before.get(row.id)! : parsed(text)
    policies.push({ ...row, compiled, bytes, ...(wasm && !row.is_off && { wasm }) })
  }
  return { ...read, policies }
}

function parsed(text: string): Pick<PolicyInStore, 'compiled' | 'bytes' | 'wasm'> {
  const compiled = JSON.parse(text) as CompiledPolicy
  if (compiled.form !== 1) throw new Error('A policy was compiled in another form')
  return { compiled, bytes: Buffer.byteLength(text) }
}

/** A compiled module as it is stored with its version; `zipped` is its WebAssembly, compressed with gzip. */
export interface StoredModule extends ModuleReads {
  zipped: Buffer
}

const moduleRow = z.object({
  policy_id: z.uuid(),
  version: z.number(),
  key: z.string(),
  attributes: z.record(z.string(), z.enum(['needed', 'optional'])),
  zipped: z.instanceof(Buffer),
})

const columns = sql.fragment`
  policy_id, version, module_key as key, module_reads as attributes, module as zipped`

/** The module of a policy by its key, from any of the policy's versions, or null. */
export function findModule(
  read: Read,
  tenantId: string,
  policyId: string,
  key: string,
): Promise<StoredModule | null> {
  return read.maybeOne(sql.type(moduleRow)`
    select ${columns} from policy_versions
    where tenant_id = ${tenantId} and policy_id = ${policyId} and module_key = ${key}
    order by version desc limit 1`)
}

/** The module of one version of a policy, or null. */
export function findModuleOf(
  read: Read,
  tenantId: string,
  policyId: string,
  version: number,
): Promise<StoredModule | null> {
  return read.maybeOne(sql.type(moduleRow)`
    select ${columns} from policy_versions
    where tenant_id = ${tenantId} and policy_id = ${policyId} and version = ${version} and module_key is not null`)
}

/** The policies, each with its module if it has one that is not switched off. Reads only the modules that are missing. */
export async function withModules<T extends { policies: readonly PolicyInStore[] }>(
  db: Pick<Databases, 'api'>,
  scope: { tenantId: string; userId: string },
  read: T,
): Promise<T> {
  const missing = read.policies.filter(({ compiled, is_off, wasm }) => compiled.module && !is_off && !wasm)
  if (missing.length === 0) return read
  const rows = await readInTenant(db, scope, (batch) =>
    batch.any(sql.type(moduleRow)`
      select ${columns} from policy_versions
      where tenant_id = ${scope.tenantId} and module_key is not null
        and (policy_id, version) in (
          select * from ${sql.unnest(
            missing.map(({ id, version }) => [id, version]),
            ['uuid', 'int4'],
          )})`),
  )
  const found = new Map<string, PolicyInStore['wasm']>()
  for (const { policy_id, zipped } of rows) found.set(policy_id, await unzipped(zipped))
  const policies = read.policies.map((policy) => {
    const wasm = found.get(policy.id)
    return wasm ? { ...policy, wasm } : policy
  })
  return { ...read, policies }
}

const maxWasmBytes = 1024 * 1024

const unzip = promisify(gunzip)

/** The WebAssembly of a stored module. */
export const unzipped = async (zipped: Buffer): Promise<Uint8Array<ArrayBuffer>> =>
  Uint8Array.from(await unzip(zipped, { maxOutputLength: maxWasmBytes }))

/** The number of policies with modules that the tenant wrote itself. */
export function countModules(tx: Tx, tenantId: string): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from policies where tenant_id = ${tenantId} and kind = 'rego' and managed_by is null`)
}

/**
 * Switches off the module of this version of a policy; false if there is a newer version, if it is off already, or if the
 * policy has another module: a draft was tried in its place.
 */
export async function switchOffModule(
  tx: Tx,
  { tenantId, policyId, version, key }: { tenantId: string; policyId: string; version: number; key: string },
  at: number,
): Promise<boolean> {
  const off = await tx.maybeOne(sql.type(idRow)`
    update policies set module_off_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${policyId} and version = ${version} and module_off_at is null
      and kind = 'rego' and compiled -> 'module' ->> 'key' = ${key}
    returning id`)
  return off !== null
}

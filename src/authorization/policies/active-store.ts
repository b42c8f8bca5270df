import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'
import { revisionOf } from '../../database/revisions.ts'
import { decisionPace } from '../../limits/decision-budget.ts'
import type { CompiledPolicy, SlicePolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Departments } from '../../policy-engine/compile/departments.ts'

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
  /** the keys of resource attributes that a question can give beside those of a registered resource */
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

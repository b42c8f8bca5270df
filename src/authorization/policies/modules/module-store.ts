import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { z } from 'zod'
import { type Read, readInTenant } from '../../../database/executor/read.ts'
import { countRow, idRow } from '../../../database/executor/row-schemas.ts'
import { type Databases, sql, type Tx } from '../../../database/executor/transaction.ts'
import { instant } from '../../../database/instant.ts'
import type { ModuleReads } from '../../../policy-engine/compile/module-policy.ts'
import type { PolicyInStore } from '../active-store.ts'

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

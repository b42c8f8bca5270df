import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { AppliedManifest, CompiledManifest } from './compile-manifest.ts'
import type { Manifest } from './manifest-schema.ts'

const revisionRow = z.object({ revision: z.number() })

/** The manifests whose rules every tenant has at a revision. */
export interface InstalledRules {
  revision: number
  manifests: readonly (AppliedManifest & { checksum: string; created_at: number })[]
}

const manifestRow = z.object({
  application: z.string(),
  version: z.number(),
  revision: z.number(),
  document: z.custom<Manifest>((value) => typeof value === 'object' && value !== null),
  compiled: z.custom<CompiledManifest>((value) => typeof value === 'object' && value !== null),
  checksum: z.string(),
  created_at: z.number(),
})

const appliedRow = manifestRow.pick({ document: true, version: true })

/** The newest version of each application's manifest, in the order of their names. */
export async function readInstalledRules(tx: Tx): Promise<InstalledRules> {
  const manifests = await tx.any(sql.type(manifestRow)`
    select distinct on (application) application, version, revision, document, compiled, checksum, created_at
    from manifests order by application, version desc`)
  return { revision: Math.max(0, ...manifests.map(({ revision }) => revision)), manifests }
}

/** The newest version of each application's manifest, as its author wrote it. */
export function listDocuments(read: Read) {
  return read.any(sql.type(appliedRow)`
    select distinct on (application) document, version from manifests order by application, version desc`)
}

/** The newest revision of the manifests; 0 without manifests. */
export function readManifestRevision(tx: Tx): Promise<number> {
  return tx.oneFirst(sql.type(revisionRow)`
    select coalesce(max(revision), 0) as revision from manifests`)
}

const lockKey = 0x0bad4

/**
 * Makes new tenants and new manifests wait for each other until the transaction ends. So the author of a revision sees
 * every tenant that was created with the rules of the one before.
 */
export async function lockManifests(tx: Tx, as: 'creator of a tenant' | 'author'): Promise<void> {
  if (as === 'author') await tx.query(sql.unsafe`select pg_advisory_xact_lock(${lockKey})`)
  else await tx.query(sql.unsafe`select pg_advisory_xact_lock_shared(${lockKey})`)
}

/** Inserts a version of a manifest. Reliable only while the manifests are locked by their author. As the system role. */
export async function insertManifest(
  tx: Tx,
  manifest: AppliedManifest & { revision: number; checksum: string; at: number },
): Promise<void> {
  tx.later(sql.unsafe`
    insert into manifests (application, version, revision, document, compiled, checksum, created_at)
    values (${manifest.application}, ${manifest.version}, ${manifest.revision}, ${sql.jsonb(manifest.document as never)},
            ${sql.jsonb(manifest.compiled as never)}, ${manifest.checksum}, ${instant(manifest.at)})`)
}

const keyRow = z.object({ key: z.string() })

/** Identifies a webhook of a manifest. */
export interface ManifestWebhook {
  application: string
  key: string
}

/** Stores the sealed secret of a webhook that has none; false if it has one. `at` in ms since 1970. As the system role. */
export async function insertWebhookSecret(
  tx: Tx,
  { application, key, sealed, at }: ManifestWebhook & { sealed: Buffer; at: number },
): Promise<boolean> {
  const inserted = await tx.maybeOne(sql.type(keyRow)`
    insert into manifest_webhooks (application, key, secret_sealed, created_at)
    values (${application}, ${key}, ${sql.binary(sealed)}, ${instant(at)})
    on conflict (application, key) do nothing returning key`)
  return inserted !== null
}

/** Replaces the secret of a webhook; the previous one also signs until `until` (ms since 1970). False if there is none. */
export async function replaceWebhookSecret(
  tx: Tx,
  { application, key, sealed, until }: ManifestWebhook & { sealed: Buffer; until: number },
): Promise<boolean> {
  const replaced = await tx.maybeOne(sql.type(keyRow)`
    update manifest_webhooks set previous_secret_sealed = secret_sealed,
      previous_secret_expires_at = ${instant(until)}, secret_sealed = ${sql.binary(sealed)}
    where application = ${application} and key = ${key} returning key`)
  return replaced !== null
}

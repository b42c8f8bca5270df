import { z } from 'zod'
import { defineList, type ListPage } from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import type { NewPolicy, Rules } from './store.ts'

/** The whole document of one version, roles as ids. */
export type Source = NewPolicy['fields'] & Rules

const source = z.custom<Source>((value) => typeof value === 'object' && value !== null)

/** Adds a version to the history, which nobody changes. */
export async function insertVersion(tx: Tx, policy: NewPolicy, reason: string): Promise<void> {
  await tx.query(sql.unsafe`
    insert into policy_versions (tenant_id, id, policy_id, version, source, checksum, author_id, reason, created_at)
    values (${policy.tenantId}, ${timeOrderedId(policy.at)}, ${policy.id}, ${policy.version}, ${sql.jsonb({ ...policy.fields, ...policy.rules } as never)},
            ${policy.checksum}, ${policy.authorId}, ${reason}, ${sql.timestamp(new Date(policy.at))})`)
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
  tx: Tx,
  tenantId: string,
  policyId: string,
  page: ListPage,
): Promise<readonly VersionRow[]> {
  return tx.any(sql.type(versionRow)`
    select ${versionColumns} from policy_versions v
    left join memberships m on m.tenant_id = v.tenant_id and m.user_id = v.author_id
    where v.tenant_id = ${tenantId} and v.policy_id = ${policyId} ${page.tail}`)
}

/** One version of a policy, also of one that was deleted; null where there never was. */
export function findVersion(
  tx: Tx,
  tenantId: string,
  policyId: string,
  version: number,
): Promise<VersionRow | null> {
  return tx.maybeOne(sql.type(versionRow)`
    select ${versionColumns} from policy_versions v
    left join memberships m on m.tenant_id = v.tenant_id and m.user_id = v.author_id
    where v.tenant_id = ${tenantId} and v.policy_id = ${policyId} and v.version = ${version}`)
}

/** Deletes the versions of a policy but the newest `kept`, of which `version` is the last. */
export async function deleteOldVersions(
  tx: Tx,
  { tenantId, id, version }: Pick<NewPolicy, 'tenantId' | 'id' | 'version'>,
  kept: number,
): Promise<void> {
  await tx.query(sql.unsafe`
    delete from policy_versions
    where tenant_id = ${tenantId} and policy_id = ${id} and version <= ${version - kept}`)
}

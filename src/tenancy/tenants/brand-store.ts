import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import type { Brand } from '../../messages/mail/brand.ts'
import { brandingRow, brandOf, logoRow } from './branding.ts'

/** Stores the logo of a tenant in place of the one before. */
export function saveLogo(
  tx: Tx,
  tenantId: string,
  { file, content }: { file: string; content: Buffer },
): void {
  tx.later(sql.unsafe`
    insert into tenant_logos (tenant_id, file, content) values (${tenantId}, ${file}, ${sql.binary(content)})
    on conflict (tenant_id) do update set file = excluded.file, content = excluded.content`)
}

export function deleteLogo(tx: Tx, tenantId: string): void {
  tx.later(sql.unsafe`delete from tenant_logos where tenant_id = ${tenantId}`)
}

const logo = z.object({ file: z.string(), content: z.instanceof(Buffer) })

/** The logo of a tenant; null for one that is deleted. */
export const findLogo = (read: Read, tenantId: string): Promise<z.infer<typeof logo> | null> =>
  read.maybeOne(sql.type(logo)`
    select l.file, l.content from tenant_logos l join tenants t on t.id = l.tenant_id and t.deleted_at is null
    where l.tenant_id = ${tenantId}`)

const brandedRow = z.object({
  id: z.uuid(),
  name: z.string(),
  branding: brandingRow,
  logo: logoRow.nullable(),
})

/** In whose name the mails and the pages of a tenant are; null for one that has no branding, or is deleted. */
export async function findBrand(read: Read, tenantId: string, publicUrl: string): Promise<Brand | null> {
  const row = await read.maybeOne(sql.type(brandedRow)`
    select id, name, coalesce(settings -> 'branding', '{}') as branding, nullif(settings -> 'logo', 'null') as logo
    from tenants where id = ${tenantId} and deleted_at is null`)
  return row && brandOf(row, publicUrl)
}

/** The id of the tenant with this slug, or null. As the system role. */
export const findTenantBySlug = (read: Read, slug: string): Promise<string | null> =>
  read.maybeOneFirst(sql.type(idRow)`select id from tenants where slug = ${slug} and deleted_at is null`)

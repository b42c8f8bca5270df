import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { LineFault, type NumberedRow } from './import-row.ts'
import { type Account, type Imported, isOf, listAccounts, listImported } from './store.ts'
import type { Joining } from './tenants-of-import.ts'

export type ImportDeps = Pick<Deps, 'clock' | 'sealer' | 'setUpTenant'> & {
  db: Pick<Deps['db'], 'api' | 'system'>
}

/** A row with all that is known of it before it is written. */
export interface KnownRow extends NumberedRow {
  joinings: readonly Joining[]
  imported: Imported | null
  account: Account | null
}

/** What was imported, and which addresses have an account. */
export async function look(
  { db }: ImportDeps,
  source: string,
  rows: readonly NumberedRow[],
): Promise<Omit<KnownRow, 'joinings'>[]> {
  if (rows.length === 0) return []
  const [imported, accounts] = await asSystem(db, 'an import looks for accounts of any tenant', (tx) =>
    Promise.all([
      listImported(
        tx,
        source,
        rows.map(({ row }) => row.id),
      ),
      listAccounts(
        tx,
        rows.map(({ row }) => row.email),
      ),
    ]),
  )
  return rows.map((numbered) => ({
    ...numbered,
    imported: imported.find(({ key }) => key === numbered.row.id) ?? null,
    account: accounts.find(({ email }) => email === numbered.row.email) ?? null,
  }))
}

/**
 * Throws for a row whose id is that of another person, and for an address whose account no one proved: it can be a stranger's, and is
 * taken over only by a row that vouches for the address.
 */
export function assertImportable({ line, row, account, imported }: Omit<KnownRow, 'joinings'>): void {
  if (imported && !isOf(imported, row.email))
    throw new LineFault(
      line,
      'id',
      'this import had another person with this id. If this is another file, give it a name of its own: --source',
      'other_person',
    )
  if (!account || account.isProven || imported || row.email_verified) return
  throw new LineFault(
    line,
    'email',
    'this address has an account that did not prove it (unproven_account). If you know that the address is this person’s, say email_verified: true',
    'unproven_account',
  )
}

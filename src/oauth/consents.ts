import { z } from 'zod'
import { readAsSystem } from '../database/executor/read.ts'
import type { Tx } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import type { OwnClient } from './client-metadata.ts'
import type { ClientKey } from './clients/client-id.ts'
import { deleteModel, findModel, putModel } from './store.ts'

const keptMs = 400 * 86_400_000
const consent = z.object({ scopes: z.array(z.string()) })

const idOf = ({ tenantId, id }: ClientKey, userId: string) => `${tenantId}.${userId}.${id}`

/** Whether a person consented to all these scopes of a client, which has not changed since. */
export async function isConsented(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  client: OwnClient,
  userId: string,
  scopes: readonly string[],
): Promise<boolean> {
  const row = await readAsSystem(db, 'a consent is of a person for the tenant of a client', (read) =>
    findModel(read, 'Consent', idOf(client, userId), clock()),
  )
  if (!row || row.created_at < client.consentsFrom) return false
  const given = consent.parse(row.payload).scopes
  return scopes.every((scope) => given.includes(scope))
}

/** Keeps the consent of a person. As the system role. */
export const keepConsent = (
  tx: Tx,
  client: OwnClient,
  { userId, scopes, at }: { userId: string; scopes: readonly string[]; at: number },
): void =>
  putModel(tx, {
    kind: 'Consent',
    id: idOf(client, userId),
    userId,
    client,
    payload: { scopes },
    at,
    expiresAt: at + keptMs,
  })

/** Forgets the consent of a person, so that it is asked for again. As the system role. */
export const forgetConsent = (tx: Tx, client: ClientKey, userId: string): void =>
  deleteModel(tx, 'Consent', idOf(client, userId))

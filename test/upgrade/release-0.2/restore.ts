import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { withClient } from '../../helpers/query.ts'

// The dumps of release 0.2 beside this file; make.ts made them.

/** What sealed the secrets in the dumps. It protects nothing else. */
export const secretKey = 'ZXhhbXBsZXMgb2YgMC4yIGhhdmUgbm8gc2VjcmV0cyE'

/** Between parts of a dump that are sent one after the other. */
export const next = '\n-- next\n'

/** The owner of the tenant of the tour, with an app for codes. */
export const ownerIn = (kind: 'postgres' | 'citus'): { email: string; password: string; totp: string } =>
  JSON.parse(readFileSync(join(import.meta.dirname, `${kind}.json`), 'utf8'))

/** Fills an empty database as release 0.2 left it. Its cluster has the roles; on Citus it is that of the coordinator, with its nodes. */
export const restore = (url: string, kind: 'postgres' | 'citus'): Promise<void> =>
  withClient(url, async (client) => {
    const dump = gunzipSync(readFileSync(join(import.meta.dirname, `${kind}.sql.gz`))).toString()
    // Foreign keys between tables on one node and on all take one connection per node.
    if (kind === 'citus') await client.query("set citus.multi_shard_modify_mode = 'sequential'")
    for (const part of dump.split(next)) await client.query(part)
  })

/** The settings of the run-time roles. */
export const settingsFor = (url: string, password = 'only-for-tests') =>
  Object.fromEntries(
    ['api', 'system', 'worker'].map((role) => [
      `DATABASE_${role.toUpperCase()}_URL`,
      Object.assign(new URL(url), { username: `bailiwick_${role}`, password }).href,
    ]),
  )

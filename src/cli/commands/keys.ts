import { openPool } from '../../database/executor/pool.ts'
import { resealAll } from '../../database/reseal.ts'
import { listSigningKeys } from '../../identity/keys/list-keys.ts'
import { revokeKey } from '../../identity/keys/revoke-key.ts'
import { rotateKeys } from '../../identity/keys/rotate-keys.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { type Config, roleUrls } from '../../settings/config.ts'
import { defineCommand, type Outcome, Refused } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { flag, required } from '../options.ts'
import { inColumns } from '../printable.ts'
import { sealerOf, withDatabase, withPools } from '../with-database.ts'

const poolOptions = { size: 1, prepared: false, applicationName: 'bailiwick-keys' }

export const keysList = defineCommand({
  name: 'keys:list',
  about: 'List the keys that sign and verify tokens, newest first',
  options: {},
  example: '',
  failure: 'failed, or JWT_PRIVATE_KEYS holds the keys',
  roles: ['system'],
  run: ({ config }) =>
    withPools(config, ['system'], async (db) => {
      if (config.JWT_PRIVATE_KEYS)
        throw new Refused('configuration', 'JWT_PRIVATE_KEYS holds the keys. See /.well-known/jwks.json.')
      const keys = (await listSigningKeys({ db, clock: Date.now })).map((key) => ({
        kid: key.kid,
        signs: key.use,
        algorithm: key.algorithm,
        state: key.state,
        created_at: rfc3339(key.createdAt),
        signs_from: rfc3339(key.signsFrom),
        verifies_until: key.verifiesUntil === null ? null : rfc3339(key.verifiesUntil),
      }))
      return { data: { keys }, text: inColumns(headings, keys.map(Object.values)) }
    }),
})

const headings = ['kid', 'signs', 'algorithm', 'state', 'created_at', 'signs_from', 'verifies_until']

export const keysRotate = defineCommand({
  name: 'keys:rotate',
  about:
    'Add a signing key, and one for ID tokens where there are any: running processes publish them within 60 s, and sign with them after 90 to 150 s',
  options: {},
  example: '',
  roles: ['system'],
  run: ({ config }) => withDatabase(config, ['system'], rotate),
})

export const keysRevoke = defineCommand({
  name: 'keys:revoke',
  about:
    'Delete a signing key that leaked: within 60 s every process refuses all tokens it signed; asks unless --yes',
  options: { kid: required('<kid>', 'The id of the key, as keys:list shows it'), yes: flag('Do not ask') },
  example: '--kid=kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k --yes',
  failure: 'failed, or no key has that kid',
  roles: ['system'],
  async run({ config, options: { kid, yes } }) {
    if (!yes)
      await assertConfirmed('Revoke this key? Everyone who has a token signed by it must sign in again.')
    const revoked = await withPools(config, ['system'], (db, complete) =>
      revokeKey({ config: complete, sealer: sealerOf(complete), clock: Date.now, db }, kid),
    )
    if (!revoked) throw new Refused('not_found', 'No key has that kid. npm run cli -- keys:list shows them.')
    const { newKid } = revoked
    const text = [
      'The key is revoked. Every process refuses its tokens within 60 s.',
      ...(newKid ? [`It was the newest key. ${newKid} replaces it.`] : []),
    ]
    return { data: { kid, new_kid: newKid }, text: text.join('\n') }
  },
})

export const keysReseal = defineCommand({
  name: 'keys:reseal',
  about:
    'Seal secrets again with the first of SECRET_KEYS; keyed hashes (refresh tokens, recovery codes) need the old key until they are renewed',
  options: {},
  example: '',
  failure: 'failed, or a value is sealed with a key that is not in SECRET_KEYS',
  roles: ['system', 'worker'],
  run: ({ config }) => withDatabase(config, ['system', 'worker'], reseal),
})

async function rotate(config: Config): Promise<Outcome> {
  const sealer = sealerOf(config)
  const system = await openPool(roleUrls(config, ['system']).system, poolOptions)
  try {
    const { kid, idTokenKid, signsAt } = await rotateKeys({ config, sealer, clock: Date.now, db: { system } })
    const at = new Date(signsAt).toISOString()
    return {
      data: { kid, id_token_kid: idTokenKid, signs_at: at },
      text: `Key ${kid}${idTokenKid ? ` (ID tokens: ${idTokenKid})` : ''} is published. Running processes sign with it from ${at}, or up to a minute later`,
    }
  } finally {
    await system.end()
  }
}

/** Seals again what an older key of SECRET_KEYS sealed; exit 1 if no key opens a value. */
export async function reseal(config: Config): Promise<Outcome> {
  const sealer = sealerOf(config)
  const urls = roleUrls(config, ['system', 'worker'])
  const system = await openPool(urls.system, poolOptions)
  const worker = await openPool(urls.worker, poolOptions)
  try {
    const columns = await resealAll({ system, worker }, sealer)
    const tables = [...Map.groupBy(columns, ({ table }) => table)].map(([table, group]) => ({
      table,
      resealed: group.reduce((sum, { resealed }) => sum + resealed, 0),
      lost: group.reduce((sum, { lost }) => sum + lost, 0),
    }))
    const lines = tables.map(
      ({ table, resealed, lost }) =>
        `${table}: ${resealed} sealed again${lost > 0 ? `, ${lost} that no key of SECRET_KEYS opens` : ''}`,
    )
    const lost = tables.some((table) => table.lost > 0)
    return { exit: lost ? 1 : 0, data: { tables }, text: lines.join('\n') }
  } finally {
    await Promise.all([system.end(), worker.end()])
  }
}

import { revokeKey } from '../../identity/keys/revoke-key.ts'
import { defineCommand, Refused } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { sealerOf } from '../keys.ts'
import { flag, required } from '../options.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const

export const keysRevoke = defineCommand({
  name: 'keys:revoke',
  about:
    'Delete a signing key that leaked: within 60 s every process refuses all tokens it signed; asks unless --yes',
  options: { kid: required('<kid>', 'The key, as keys:list shows it'), yes: flag('Do not ask') },
  example: '--kid kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k --yes',
  failure: 'it failed, or no key has that kid',
  roles,
  async run({ config, options: { kid, yes } }) {
    if (!yes) await assertConfirmed('Revoke this key? Everyone whose token it signed signs in again.')
    const revoked = await withPools(config, roles, (db, complete) =>
      revokeKey({ config: complete, sealer: sealerOf(complete), clock: Date.now, db }, kid),
    )
    if (!revoked) throw new Refused('not_found', 'No key has that kid. npm run cli -- keys:list shows them.')
    const { newKid } = revoked
    const text = [
      'The key is revoked. Every process refuses its tokens within 60 s.',
      ...(newKid ? [`It was the only one: ${newKid} signs in its place.`] : []),
    ]
    return { data: { kid, new_kid: newKid }, text: text.join('\n') }
  },
})

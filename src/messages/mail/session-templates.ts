import { z } from 'zod'
import { client } from './client-name.ts'
import { name } from './free-text.ts'
import { letter } from './letter.ts'
import { hello, notice } from './template.ts'

/** What a reset by mail does, and what it leaves: the truth for a person who fears an intruder. */
const ifNotYou =
  'If it was not you, reset your password at once. That ends all sessions, revokes your API keys, and removes second factors that were added in the last 24 hours with the password alone. Then log in and delete the passkeys and other second factors that you do not know.'

// A mail queued by the release before has only `firstName`.
const waysIn = {
  firstName: name,
  keysRevoked: z.boolean().default(false),
  passkeys: z.int().default(0),
  keys: z.int().default(0),
}

const counted = (count: number, what: string) =>
  count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`]

/** What still opens the account besides the password. */
function stillOpen({ passkeys, keys }: { passkeys: number; keys: number }): string[] {
  const ways = [...counted(passkeys, 'passkey'), ...counted(keys, 'API key')]
  return ways.length === 0 ? [] : [`These still open your account: ${ways.join(' and ')}.`]
}

const revoked = (keysRevoked: boolean) => (keysRevoked ? ' Your API keys were revoked.' : '')

/** Mails about passwords and sessions. */
export const sessionTemplates = {
  password_changed: notice(waysIn, ({ firstName, keysRevoked, ...ways }) =>
    letter('Your password was changed', [
      hello(firstName),
      `The password of your account was changed, and your other sessions were ended.${revoked(keysRevoked)}`,
      ...stillOpen(ways),
      ifNotYou,
    ]),
  ),
  sessions_ended: notice(waysIn, ({ firstName, keysRevoked, ...ways }) =>
    letter('Your sessions were ended', [
      hello(firstName),
      `All sessions of your account were ended.${revoked(keysRevoked)}`,
      ...stillOpen(ways),
      ifNotYou,
    ]),
  ),
  new_sign_in: notice({ ip: z.string(), device: client, at: z.string() }, ({ ip, device, at }) =>
    letter('New sign-in to your account', [
      hello(''),
      `Someone signed in to your account at ${at} from the address ${ip} with ${device}. This combination is new.`,
      ifNotYou,
    ]),
  ),
}

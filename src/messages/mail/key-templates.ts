import { z } from 'zod'
import { name } from './free-text.ts'
import { letter } from './letter.ts'
import { hello, notice } from './template.ts'

/** Mails about API keys. */
export const keyTemplates = {
  // A mail queued by the release before has no `ofAccount`.
  api_key_created: notice(
    { keyName: name, tenantName: name, firstName: name, ofAccount: z.boolean().default(false) },
    ({ keyName, tenantName, firstName, ofAccount }) =>
      letter(`An API key was created ${ofAccount ? 'with' : 'for'} your account`, [
        hello(firstName),
        ofAccount
          ? `With your account, the API key “${keyName}” was created for a service account of “${tenantName}”. It can do there what its scopes and the roles of the service account permit.`
          : `The API key “${keyName}” was created. It can do in “${tenantName}” what its scopes and your roles permit.`,
        'If it was not you, log in, delete the key and change your password.',
      ]),
  ),
  api_key_leaked: notice({ keyName: name, tenantName: name, prefix: z.string(), holder: name }, (key) =>
    letter('An API key was found and revoked', [
      'Hello,',
      `Someone found the API key “${key.keyName}” of ${key.holder} in “${key.tenantName}” and reported it, so it was revoked. It begins with ${key.prefix} and no longer works.`,
      'Find out where it was published, and what was done with it: the audit log and the decision log show it. Then create a new key.',
    ]),
  ),
}

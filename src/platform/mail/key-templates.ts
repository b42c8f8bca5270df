import { z } from 'zod'
import { name } from './free-text.ts'
import { letter } from './letter.ts'
import { hello, template } from './template.ts'

/** Mails about API keys. */
export const keyTemplates = {
  api_key_created: template({ keyName: name, tenantName: name, firstName: name }, (key) =>
    letter('An API key was created for your account', [
      hello(key.firstName),
      `The API key “${key.keyName}” was created. It can do in “${key.tenantName}” what its scopes and your roles permit.`,
      'If it was not you, log in, delete the key and change your password.',
    ]),
  ),
  api_key_leaked: template({ keyName: name, tenantName: name, prefix: z.string(), holder: name }, (key) =>
    letter('An API key was found and revoked', [
      'Hello,',
      `Someone found the API key “${key.keyName}” of ${key.holder} in “${key.tenantName}” and reported it, so it was revoked. It begins with ${key.prefix} and no longer works.`,
      'Find out where it was published, and what was done with it: the audit log and the decision log show it. Then create a new key.',
    ]),
  ),
}

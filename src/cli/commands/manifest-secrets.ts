import { nilUuid } from '../../crypto/uuid.ts'
import { ApiError } from '../../errors.ts'
import type { AppliedManifest } from '../../installation/manifests/compile-manifest.ts'
import { rotateWebhookSecret } from '../../installation/manifests/rotate-webhook-secret.ts'
import { clientIdOf, manifestRowId } from '../../oauth/clients/client-id.ts'
import { addManifestSecret } from '../../oauth/clients/manifest-clients.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { defineCommand, Refused } from '../command.ts'
import { flag, required } from '../options.ts'
import { sealerOf, withPools } from '../with-database.ts'

export const manifestRotateSecret = defineCommand({
  name: 'manifest:rotate-secret',
  about: 'Give a webhook of a manifest a new secret; both sign for 24 hours; printed once',
  options: {
    application: required('<name>', 'The application, as in its manifest'),
    webhook: required('<key>', 'The key of the webhook in the manifest'),
  },
  example: '--application logbook --webhook all-events',
  failure: 'failed, or the manifest has no such webhook',
  roles: ['system'],
  run: ({ config, options: { application, webhook } }) =>
    withPools(config, ['system'], async (db, complete) => {
      const deps = { db, clock: Date.now, sealer: sealerOf(complete) }
      const rotated = await rotateWebhookSecret(deps, { application, key: webhook })
      if (!rotated) throw new Refused('not_found', 'No manifest of this application has this webhook.')
      const until = rfc3339(rotated.until)
      return {
        data: { secret: rotated.secret, previous_secret_expires_at: until },
        text: `Secret  ${rotated.secret}   (shown once)\nUntil ${until} the previous secret also signs.`,
      }
    }),
})

export const clientSecret = defineCommand({
  name: 'client:secret',
  about: 'Give a client of a manifest a new secret; the one before works on; printed once',
  options: {
    client: required('<client_id>', 'The client_id that manifest:list shows'),
    'end-oldest': flag('End the older one first if the client has two, which is the most'),
  },
  example: `--client bwa_${'0'.repeat(22)}…`,
  failure: 'failed, or no manifest has this client, or it has no secrets, or two',
  roles: ['system'],
  run: ({ config, options: { client, 'end-oldest': endsOldest } }) =>
    withPools(config, ['system'], async (db) => {
      const deps = { db, clock: Date.now }
      const secret = await addManifestSecret(deps, client, { endsOldest }).catch(refuse)
      return { data: { client_id: client, secret }, text: `Secret  ${secret}   (shown once)` }
    }),
})

/** The `client_id` of each client of a manifest. */
export const clientsOf = ({ application, document }: Pick<AppliedManifest, 'application' | 'document'>) =>
  Object.keys(document.clients ?? {})
    .sort()
    .map((key) => {
      const id = manifestRowId(application, key)
      return { application, key, client_id: clientIdOf({ tenantId: nilUuid, id }) }
    })

/** As a line of text. */
export const clientLine = ({ application, key, client_id }: ReturnType<typeof clientsOf>[number]) =>
  `Client ${application}/${key}: ${client_id}`

function refuse(error: unknown): never {
  if (!(error instanceof ApiError)) throw error
  const isFull = error.code === 'limit_reached'
  throw new Refused(error.code, isFull ? 'This client has two secrets: add --end-oldest.' : error.message)
}

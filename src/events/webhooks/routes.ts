import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { pageOf, uncountedPageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { timestamp } from '../../platform/http/schemas.ts'
import { deliveryList, deliveryStatuses } from './asked-store.ts'
import { createWebhook } from './create-webhook.ts'
import { removeWebhook } from './delete-webhook.ts'
import { pageOfDeliveries, pageOfWebhooks, readWebhook } from './read-webhooks.ts'
import { replayDelivery } from './replay-delivery.ts'
import { rotateSecret } from './rotate-secret.ts'
import { webhookList } from './store.ts'
import { testWebhook } from './test-webhook.ts'
import { updateWebhook } from './update-webhook.ts'
import {
  createdWebhook,
  rotatedSecret,
  showWebhook,
  webhookBodies,
  webhookSchema,
} from './webhook-schemas.ts'

const deliverySchema = z
  .object({
    id: z.uuid(),
    event_id: z.uuid().meta({ description: 'Sent as `webhook-id`' }),
    event_type: z.string(),
    attempt: z.int().meta({ description: 'How often it was tried' }),
    status: z.enum(deliveryStatuses),
    response_status: z.int().nullable(),
    duration_ms: z.int().nullable(),
    error: z.string().nullable().meta({ description: 'Why there was no answer' }),
    next_attempt_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Delivery', description: 'One event for one webhook, with its last attempt' })

const deliveryId = z.object({ delivery_id: z.uuid() })

const tag = 'Webhooks'
const all = '/api/v1/webhooks'
const one = `${all}/:id`

export const webhookRoutes = (deps: Deps): Route[] => {
  const { newWebhook, webhookChange } = webhookBodies(deps.config.WEBHOOK_ALLOW_PRIVATE)
  return [
    route({
      method: 'GET',
      path: all,
      action: 'webhook:list',
      tag,
      summary: 'List the webhooks of your tenant',
      query: webhookList.query,
      status: 200,
      answer: pageOf(webhookSchema),
      handle: ({ caller, query }) => pageOfWebhooks(deps, caller, query),
    }),
    route({
      method: 'POST',
      path: all,
      action: 'webhook:create',
      tag,
      summary: 'Have events sent to a URL',
      description: 'The answer holds the secret that signs them, which is not shown again.',
      body: newWebhook,
      status: 201,
      answer: createdWebhook,
      refusals: [409],
      secret: true,
      handle: async ({ caller, body }) => {
        const { row, secret } = await createWebhook(deps, caller, body)
        return { ...showWebhook(row), secret }
      },
    }),
    route({
      method: 'GET',
      path: one,
      action: 'webhook:list',
      decides: 'resource',
      tag,
      summary: 'Read a webhook',
      status: 200,
      answer: webhookSchema,
      versioned: true,
      handle: async ({ caller, params }) => {
        const row = await readWebhook(deps, caller, pathId(params.id))
        return new Versioned(row.version, showWebhook(row))
      },
    }),
    ...(['PUT', 'PATCH'] as const).map((method) =>
      route({
        method,
        path: one,
        action: 'webhook:update',
        decides: 'resource',
        tag,
        summary: 'Change a webhook',
        description: '`is_active: true` opens one again that the service has disabled.',
        body: webhookChange,
        status: 200,
        answer: webhookSchema,
        versioned: true,
        handle: async ({ caller, params, body, ifMatch }) =>
          showWebhook(await updateWebhook(deps, caller, pathId(params.id), body, ifMatch)),
      }),
    ),
    route({
      method: 'DELETE',
      path: one,
      action: 'webhook:delete',
      decides: 'resource',
      tag,
      summary: 'Delete a webhook',
      status: 204,
      answer: null,
      versioned: true,
      handle: async ({ caller, params, ifMatch }) => {
        await removeWebhook(deps, caller, pathId(params.id), ifMatch)
        return undefined
      },
    }),
    route({
      method: 'POST',
      path: `${one}/test`,
      action: 'webhook:test',
      decides: 'resource',
      tag,
      summary: 'Send a test to a webhook',
      description:
        'One attempt, of an event of the type `events.webhook_tested`: what became of it is in its deliveries.',
      status: 200,
      answer: deliveryId,
      refusals: [409],
      handle: async ({ caller, params }) => ({
        delivery_id: await testWebhook(deps, caller, pathId(params.id)),
      }),
    }),
    route({
      method: 'POST',
      path: `${one}/rotate-secret`,
      action: 'webhook:rotate',
      decides: 'resource',
      tag,
      summary: 'Give a webhook a new secret',
      description: 'For 24 hours both sign, so that receivers can change over.',
      status: 200,
      answer: rotatedSecret,
      secret: true,
      handle: ({ caller, params }) => rotateSecret(deps, caller, pathId(params.id)),
    }),
    route({
      method: 'GET',
      path: `${one}/deliveries`,
      action: 'webhook:list',
      decides: 'resource',
      tag,
      summary: 'List what was sent to a webhook, newest first',
      query: deliveryList.query,
      status: 200,
      answer: uncountedPageOf(deliverySchema),
      handle: ({ caller, params, query }) => pageOfDeliveries(deps, caller, pathId(params.id), query),
    }),
    route({
      method: 'POST',
      path: `${one}/deliveries/:did/replay`,
      action: 'webhook:replay',
      decides: 'resource',
      tag,
      summary: 'Send an event to a webhook once more',
      description: 'One attempt, beside the order of the others.',
      status: 200,
      answer: deliveryId,
      refusals: [409, 410],
      handle: async ({ caller, params }) => {
        const id = pathId(params.did)
        await replayDelivery(deps, caller, pathId(params.id), id)
        return { delivery_id: id }
      },
    }),
  ]
}

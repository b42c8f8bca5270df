import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { pageOf, uncountedPageOf } from '../../platform/http/lists.ts'
import { changeRoute, type Route, resourceRoute, route, type Target } from '../../platform/http/route.ts'
import { timestamp } from '../../platform/http/schemas.ts'
import { deliveryList, deliveryStatuses } from './asked-store.ts'
import { createWebhook } from './create-webhook.ts'
import { removeWebhook } from './delete-webhook.ts'
import { loadWebhook, pageOfDeliveries, pageOfWebhooks } from './read-webhooks.ts'
import { replayDelivery } from './replay-delivery.ts'
import { rotateSecret } from './rotate-secret.ts'
import { holdWebhook, type WebhookRow, webhookList } from './store.ts'
import { testWebhook } from './test-webhook.ts'
import { updateWebhook } from './update-webhook.ts'
import {
  createdWebhook,
  rotatedSecret,
  showChangedWebhook,
  showWebhook,
  webhookBodies,
  webhookResource,
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

/** Where a URL leads is for approvers to see; its path and query may be a secret of the receiver's. */
const withOriginOnly = <Body extends { url?: string | undefined }>(body: Body): Body =>
  body.url === undefined ? body : { ...body, url: new URL(body.url).origin }

/** The webhook of the path, which nobody else changes until the transaction ends. */
const heldWebhook = (tx: Tx, { caller, params }: Target): Promise<WebhookRow | null> =>
  holdWebhook(tx, caller.tenantId, pathId(params.id))

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
    changeRoute({
      method: 'POST',
      path: all,
      action: 'webhook:create',
      tag,
      summary: 'Have events sent to a URL',
      description: 'The answer holds the secret that signs them, which is not shown again.',
      body: newWebhook,
      shownBody: withOriginOnly,
      status: 201,
      answer: createdWebhook,
      refusals: [409],
      secret: true,
      act: async (tx, { caller, body }) => {
        const { row, secret } = await createWebhook(tx, deps, caller, body)
        return { ...showChangedWebhook(row), secret }
      },
    }),
    resourceRoute({
      method: 'GET',
      path: one,
      action: 'webhook:list',
      tag,
      summary: 'Read a webhook',
      status: 200,
      answer: webhookSchema,
      versioned: true,
      load: ({ caller, params }) => loadWebhook(deps, caller, pathId(params.id)),
      resource: webhookResource,
      handle: (row) => new Versioned(row.version, showWebhook(row)),
    }),
    ...(['PUT', 'PATCH'] as const).map((method) =>
      changeRoute({
        method,
        path: one,
        action: 'webhook:update',
        tag,
        summary: 'Change a webhook',
        description: '`is_active: true` opens one again that the service has disabled.',
        body: webhookChange,
        shownBody: withOriginOnly,
        status: 200,
        answer: webhookSchema,
        versioned: true,
        load: heldWebhook,
        resource: webhookResource,
        act: async (tx, ask, webhook) =>
          showChangedWebhook(await updateWebhook(tx, deps, ask.caller, webhook, ask)),
      }),
    ),
    changeRoute({
      method: 'DELETE',
      path: one,
      action: 'webhook:delete',
      tag,
      summary: 'Delete a webhook',
      status: 204,
      answer: null,
      versioned: true,
      load: heldWebhook,
      resource: webhookResource,
      act: (tx, { caller, ifMatch }, webhook) => removeWebhook(tx, deps, caller, webhook, ifMatch),
    }),
    changeRoute({
      method: 'POST',
      path: `${one}/test`,
      action: 'webhook:test',
      tag,
      summary: 'Send a test to a webhook',
      description:
        'One attempt, of an event of the type `events.webhook_tested`: what became of it is in its deliveries.',
      status: 200,
      answer: deliveryId,
      refusals: [409],
      load: heldWebhook,
      resource: webhookResource,
      act: async (tx, { caller }, webhook) => ({ delivery_id: await testWebhook(tx, deps, caller, webhook) }),
    }),
    changeRoute({
      method: 'POST',
      path: `${one}/rotate-secret`,
      action: 'webhook:rotate',
      tag,
      summary: 'Give a webhook a new secret',
      description: 'For 24 hours both sign, so that receivers can change over.',
      status: 200,
      answer: rotatedSecret,
      secret: true,
      load: heldWebhook,
      resource: webhookResource,
      act: (tx, { caller }, webhook) => rotateSecret(tx, deps, caller, webhook),
    }),
    resourceRoute({
      method: 'GET',
      path: `${one}/deliveries`,
      action: 'webhook:list',
      tag,
      summary: 'List what was sent to a webhook, newest first',
      query: deliveryList.query,
      status: 200,
      answer: uncountedPageOf(deliverySchema),
      load: ({ caller, params }) => loadWebhook(deps, caller, pathId(params.id)),
      resource: webhookResource,
      handle: ({ id }, { caller, query }) => pageOfDeliveries(deps, caller, id, query),
    }),
    changeRoute({
      method: 'POST',
      path: `${one}/deliveries/:did/replay`,
      action: 'webhook:replay',
      tag,
      summary: 'Send an event to a webhook once more',
      description: 'One attempt, beside the order of the others.',
      status: 200,
      answer: deliveryId,
      refusals: [409, 410],
      load: heldWebhook,
      resource: webhookResource,
      act: async (tx, { caller, params }, webhook) => {
        const id = pathId(params.did)
        await replayDelivery(tx, deps, caller, webhook, id)
        return { delivery_id: id }
      },
    }),
  ]
}

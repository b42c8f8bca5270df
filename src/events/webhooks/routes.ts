import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { managedByApplication } from '../../errors.ts'
import { listing, pageAndCount, pageOf, together, uncounted, uncountedPageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { pathId } from '../../request/path-id.ts'
import { type LoadTarget, type Route, route, type Target } from '../../request/route.ts'
import { createWebhook } from './create-webhook.ts'
import { removeWebhook } from './delete-webhook.ts'
import { deliveryList, listDeliveries } from './delivery-store.ts'
import { receiverRules } from './public-address.ts'
import { replayDelivery } from './replay-delivery.ts'
import { rotateSecret } from './rotate-secret.ts'
import {
  countMatching,
  findWebhook,
  listWebhooks,
  lockWebhook,
  type WebhookRow,
  webhookList,
} from './store.ts'
import { testWebhook } from './test-webhook.ts'
import { updateWebhook } from './update-webhook.ts'
import {
  createdWebhook,
  deliverySchema,
  rotatedSecret,
  showDelivery,
  showWebhook,
  webhookBodies,
  webhookResource,
  webhookSchema,
} from './webhook-schemas.ts'

const deliveryId = z.object({ delivery_id: z.uuid() })

const tag = 'Webhooks'
const all = '/api/v1/webhooks'
const one = `${all}/:id`

/** Approvers see the origin of a URL. Its path and query can contain a secret of the receiver. */
const withOriginOnly = <Body extends { url?: string | undefined }>(body: Body): Body =>
  body.url === undefined ? body : { ...body, url: new URL(body.url).origin }

/** Throws 409 `managed` for a webhook of a manifest. */
function ownWebhook(webhook: WebhookRow): WebhookRow {
  if (webhook.managed_by !== null) throw managedByApplication(webhook.managed_by, 'webhook')
  return webhook
}

const loadWebhook = (read: Read, { caller, params }: LoadTarget): Promise<WebhookRow | null> =>
  findWebhook(read, caller.tenantId, pathId(params.id))

const webhooks = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/webhooks',
    list: webhookList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listWebhooks(read, tenantId, page), countMatching(read, tenantId, page)),
    show: showWebhook,
  })

const deliveries = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/webhooks/:id/deliveries',
    list: deliveryList,
    rows: (read, { caller: { tenantId }, params }, page) =>
      uncounted(listDeliveries(read, tenantId, pathId(params.id), page)),
    show: showDelivery,
  })

/** Loads the webhook of the path and locks it until the transaction ends. */
const lockedWebhook = (tx: Tx, { caller, params }: Target): Promise<WebhookRow | null> =>
  lockWebhook(tx, caller.tenantId, pathId(params.id))

export const webhookRoutes = (deps: Deps): Route[] => {
  const { newWebhook, webhookChange } = webhookBodies(receiverRules(deps.config))
  return [
    route({
      method: 'GET',
      action: 'webhook:list',
      tag,
      summary: 'List the webhooks of your tenant',
      status: 200,
      answer: pageOf(webhookSchema),
      ...webhooks(deps),
    }),
    route({
      method: 'POST',
      path: all,
      action: 'webhook:create',
      tag,
      summary: 'Have events sent to a URL',
      description: 'The answer contains the secret that signs them. It is not shown again.',
      body: newWebhook,
      shownBody: withOriginOnly,
      status: 201,
      answer: createdWebhook,
      refusals: [409],
      secret: true,
      act: async (tx, { caller, body }) => {
        const { row, secret } = await createWebhook(tx, deps, caller, body)
        return { ...showWebhook(row), secret }
      },
    }),
    route({
      method: 'GET',
      path: one,
      action: 'webhook:list',
      tag,
      summary: 'Read a webhook',
      status: 200,
      answer: webhookSchema,
      versioned: true,
      load: loadWebhook,
      resource: webhookResource,
      handle: (_input, row) => new Versioned(row.version, showWebhook(row)),
    }),
    ...(['PUT', 'PATCH'] as const).map((method) =>
      route({
        method,
        path: one,
        action: 'webhook:update',
        tag,
        summary: 'Change a webhook',
        description: '`is_active: true` also enables a webhook that the service disabled.',
        body: webhookChange,
        shownBody: withOriginOnly,
        status: 200,
        answer: webhookSchema,
        refusals: [409],
        versioned: true,
        load: lockedWebhook,
        resource: webhookResource,
        act: async (tx, input, webhook) =>
          showWebhook(await updateWebhook(tx, deps, input.caller, ownWebhook(webhook), input)),
      }),
    ),
    route({
      method: 'DELETE',
      path: one,
      action: 'webhook:delete',
      tag,
      summary: 'Delete a webhook',
      status: 204,
      answer: null,
      refusals: [409],
      versioned: true,
      load: lockedWebhook,
      resource: webhookResource,
      act: (tx, { caller, ifMatch }, webhook) =>
        removeWebhook(tx, deps, caller, ownWebhook(webhook), ifMatch),
    }),
    route({
      method: 'POST',
      path: `${one}/test`,
      action: 'webhook:test',
      tag,
      summary: 'Send a test to a webhook',
      description:
        'Makes one attempt, with an event of the type `events.webhook_tested`. The list of deliveries shows the result.',
      status: 200,
      answer: deliveryId,
      refusals: [409],
      load: lockedWebhook,
      resource: webhookResource,
      act: async (tx, { caller }, webhook) => ({
        delivery_id: await testWebhook(tx, deps, caller, ownWebhook(webhook)),
      }),
    }),
    route({
      method: 'POST',
      path: `${one}/rotate-secret`,
      action: 'webhook:rotate',
      tag,
      summary: 'Give a webhook a new secret',
      description: 'Both secrets sign for 24 hours, so that receivers can switch.',
      status: 200,
      answer: rotatedSecret,
      refusals: [409],
      secret: true,
      load: lockedWebhook,
      resource: webhookResource,
      act: (tx, { caller }, webhook) => rotateSecret(tx, deps, caller, ownWebhook(webhook)),
    }),
    route({
      method: 'GET',
      path: `${one}/deliveries`,
      action: 'webhook:list',
      tag,
      summary: 'List the deliveries of a webhook, newest first',
      query: deliveryList.query,
      status: 200,
      answer: uncountedPageOf(deliverySchema),
      load: (read, input) => together(loadWebhook(read, input), deliveries(deps).load(read, input)),
      resource: ({ found }) => webhookResource(found),
      handle: (input, { page }) => deliveries(deps).handle(input, page),
    }),
    route({
      method: 'POST',
      path: `${one}/deliveries/:did/replay`,
      action: 'webhook:replay',
      tag,
      summary: 'Send an event to a webhook once more',
      description: 'Makes one attempt, outside the order of the other deliveries.',
      status: 200,
      answer: deliveryId,
      refusals: [409, 410],
      load: lockedWebhook,
      resource: webhookResource,
      act: async (tx, { caller, params }, webhook) => {
        const id = pathId(params.did)
        await replayDelivery(tx, deps, caller, ownWebhook(webhook), id)
        return { delivery_id: id }
      },
    }),
  ]
}

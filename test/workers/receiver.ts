import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { secretContext } from '../../src/events/webhooks/webhook-secret.ts'
import { timeOrderedId } from '../../src/messages/outbox/time-ordered-id.ts'
import type { Stage } from './stage.ts'

export interface Received {
  path: string
  headers: Record<string, string>
  body: string
  /** The id of the event and its sequence; undefined for a test. */
  id: string
  sequence: number | undefined
  tenantId: string
}

/** How a receiver answers: a status, or a function. */
type Answering = (received: Received, response: ServerResponse) => number | undefined

/** A webhook receiver on 127.0.0.1 that ends with the test. It accepts everything by default. */
export async function startReceiver(t: Test, answer: Answering = () => 204) {
  const receiver = {
    url: '',
    received: [] as Received[],
    taken: [] as Received[],
    answer,
    close: async () => {},
  }
  const server = createServer((request, response) => {
    read(request).then((received) => {
      receiver.received.push(received)
      const status = receiver.answer(received, response)
      if (status === undefined) return
      if (status < 300) receiver.taken.push(received)
      response.writeHead(status).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  receiver.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  receiver.close = async () => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  t.teardown(receiver.close)
  return receiver
}

async function read(request: IncomingMessage): Promise<Received> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const body = Buffer.concat(parts).toString()
  const { id, sequence, tenantid } = JSON.parse(body)
  const headers = request.headers as Record<string, string>
  return { path: request.url!, headers, body, id, sequence: sequence ?? undefined, tenantId: tenantid }
}

/** The default fields of a webhook. */
interface Wanted {
  tenantId?: string
  eventTypes?: string[]
  columns?: Record<string, unknown>
}

/** Registers a webhook as its owner; returns its id and secret. */
export async function addWebhook(
  stage: Stage,
  url: string,
  { tenantId, eventTypes = [], columns = {} }: Wanted = {},
) {
  const tenant = tenantId ?? stage.tenant
  const id = timeOrderedId(Date.now())
  const secret = newSecret()
  const values: Record<string, unknown> = {
    tenant_id: tenant,
    id,
    url,
    event_types: eventTypes,
    secret_sealed: seal(stage, tenant, id, secret),
    created_at: new Date(),
    updated_at: new Date(),
    ...columns,
  }
  const names = Object.keys(values)
  await stage.root.query(
    `insert into webhooks (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')})`,
    Object.values(values),
  )
  return { id, secret, tenantId: tenant }
}

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** A secret as it is stored. */
export const seal = (stage: Stage, tenantId: string, webhookId: string, secret: string) =>
  stage.deps.sealer.seal('webhook', secret, secretContext(tenantId, webhookId))

/** Inserts a test, as the route does; returns the id of the delivery. */
export async function addTest(stage: Stage, webhookId: string, tenantId = stage.tenant): Promise<string> {
  const [id, eventId] = [timeOrderedId(Date.now()), timeOrderedId(Date.now())]
  await stage.root.query(
    `insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, in_order, next_attempt_at,
                                     retry_until, created_at)
     values ($1, $2, $3, $4, 'events.webhook_tested', false, now() - interval '1 s', now() + interval '1 day', now())`,
    [tenantId, id, webhookId, eventId],
  )
  await sendOnce(stage, webhookId, id, tenantId)
  return id
}

/** Inserts the message of a test or a replay. */
export const sendOnce = (stage: Stage, webhookId: string, deliveryId: string, tenantId = stage.tenant) =>
  stage.root.query(
    `insert into outbox (tenant_id, id, queue, payload, created_at)
     values ($1, gen_random_uuid(), 'webhook-once', jsonb_build_object('v', 1, 'webhook_id', $2::text, 'delivery_id', $3::text), now())`,
    [tenantId, webhookId, deliveryId],
  )

/** Makes a delayed message due now: it gets a new job, and the old job finds its row gone. */
export const wake = (stage: Stage) =>
  stage.root.query(`update outbox set id = gen_random_uuid(), enqueued_at = null where queue like 'webhook%'`)

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { eventTypes as knownTypes } from '../../messages/outbox/event-types.ts'
import { written } from '../../request/body/known-members.ts'
import { managedBy, rfc3339, timestamp } from '../../request/body/schemas.ts'
import { nearestName } from '../../text/nearest-name.ts'
import { type DeliveryRow, deliveryStatuses } from './delivery-store.ts'
import { type ReceiverRules, whyRefused } from './public-address.ts'
import type { WebhookRow } from './store.ts'

const maxTypes = 100

const types = Object.keys(knownTypes)
const families = [...new Set(types.map((type) => `${type.slice(0, type.indexOf('.'))}.*`))]
/** What `event_types` can contain: the types of the service, and the prefixes that stand for many. */
export const selectableTypes: ReadonlySet<string> = new Set([...types, ...families])

const eventType = z.string('Give each event type as text.').superRefine((type, context) => {
  if (selectableTypes.has(type)) return
  const meant = nearestName(type, selectableTypes)
  const shown = JSON.stringify(type.slice(0, 64))
  const hint = meant === null ? `Prefixes are ${families.join(', ')}.` : `Did you mean ${meant}?`
  const message = `No event of the service has the type ${shown}. ${hint} An empty list means all.`
  context.addIssue({ code: 'custom', message, params: { code: 'unknown_event_type', meant } })
})

const tooMany = `Give at most ${maxTypes} types; identity.* stands for many.`

// The list's length is checked before its entries. Otherwise a long invalid list would get a much longer error.
export const eventTypes = z
  .array(z.unknown(), 'Give event_types as a list of texts.')
  .max(maxTypes, tooMany)
  .pipe(z.array(eventType))
  .transform((types) => [...new Set(types)])
  .meta({
    description: 'Which events are sent, by type or prefix; empty for all',
    example: ['identity.*', 'tenant.member_added'],
    override: { type: 'array', items: { type: 'string', maxLength: 128 }, maxItems: maxTypes },
  })

export const webhookDescription = z
  .string('Give the description as text.')
  .refine((text) => [...text].length <= 2000, 'A description can have at most 2000 characters.')

const isActive = z.boolean('Give is_active as true or false.').meta({
  description: 'false: no events are sent. true also enables a webhook that the service disabled',
})

export const webhookUrl = (rules: ReceiverRules) =>
  z
    .string('Give the URL as text.')
    .superRefine((text, context) => {
      const message = whyRefused(text, rules)
      if (message) context.addIssue({ code: 'custom', message })
    })
    .meta({ format: 'uri', maxLength: 2000, example: 'https://example.com/events' })

/** The bodies that create and change a webhook. */
export const webhookBodies = (rules: ReceiverRules) => ({
  newWebhook: written(
    z.object({
      url: webhookUrl(rules),
      description: webhookDescription.default(''),
      event_types: eventTypes.prefault([]),
      is_active: isActive.default(true),
    }),
    // The service makes the secret and the status, so neither can be sent.
    { shownAs: webhookSchema.omit({ status: true }) },
  ),
  webhookChange: z.object({
    url: webhookUrl(rules).optional(),
    description: webhookDescription.optional(),
    event_types: eventTypes.optional(),
    is_active: isActive.optional(),
  }),
})

type Bodies = ReturnType<typeof webhookBodies>
export type NewWebhook = z.output<Bodies['newWebhook']>
export type WebhookChange = z.output<Bodies['webhookChange']>

export const webhookSchema = z
  .object({
    id: z.uuid(),
    url: z.string(),
    description: z.string(),
    event_types: z.array(z.string()),
    is_active: z.boolean().meta({ description: 'As you set it' }),
    status: z.enum(['active', 'disabled']).meta({ description: 'Whether events are sent' }),
    disabled_reason: z
      .enum(['gone', 'failing'])
      .nullable()
      .meta({ description: 'Set by the service: the receiver answered 410, or failed for 5 days' }),
    managed_by: managedBy,
    managed_as: z.string().nullable().meta({ description: 'Its key in the manifest' }),
    created_at: timestamp,
    updated_at: timestamp,
    last_success_at: timestamp.nullable(),
    last_failure_at: timestamp.nullable(),
  })
  .meta({ id: 'Webhook' })

const secret = z.string().meta({
  description: 'Signs what is sent (Standard Webhooks). Shown only here, not again',
  example: `whsec_${'A'.repeat(43)}=`,
})

export const createdWebhook = webhookSchema.extend({ secret }).meta({ id: 'CreatedWebhook' })

export const rotatedSecret = z
  .object({
    secret,
    previous_secret_expires_at: timestamp.meta({ description: 'Until then the previous secret also signs' }),
  })
  .meta({ id: 'RotatedSecret' })

const moment = (ms: number | null) => (ms === null ? null : rfc3339(ms))

export const showWebhook = (row: WebhookRow) => ({
  id: row.id,
  // The path can contain a secret of the application.
  url: row.managed_by === null ? row.url : `${new URL(row.url).origin}/…`,
  description: row.description,
  event_types: row.event_types,
  is_active: row.is_active,
  status: stateOf(row) === 'active' ? ('active' as const) : ('disabled' as const),
  disabled_reason: row.disabled_reason,
  managed_by: row.managed_by,
  managed_as: row.managed_as,
  created_at: rfc3339(row.created_at),
  updated_at: rfc3339(row.updated_at),
  last_success_at: moment(row.last_success_at),
  last_failure_at: moment(row.last_failure_at),
})

/** `inactive`: turned off by the tenant; `disabled`: by the service. */
export const stateOf = ({ is_active, disabled_reason }: Pick<WebhookRow, 'is_active' | 'disabled_reason'>) =>
  disabled_reason ? 'disabled' : is_active ? 'active' : 'inactive'

/** The fields of a webhook that the audit log records. */
export const auditedWebhook = ({
  url,
  description,
  event_types,
  is_active,
  disabled_reason,
}: WebhookRow) => ({
  url: auditedUrl(url),
  description,
  event_types,
  is_active,
  disabled_reason,
})

/**
 * The origin of a URL. Its path and query can contain a secret of the receiver, and auditors cannot read webhooks, so a
 * digest stands for them: it shows that they changed.
 */
function auditedUrl(url: string): string {
  const { origin } = new URL(url)
  return `${origin}/… (sha256 ${createHash('sha256').update(url).digest('hex').slice(0, 16)})`
}

export const deliverySchema = z
  .object({
    id: z.uuid(),
    event_id: z.uuid().meta({ description: 'Sent as `webhook-id`' }),
    event_type: z.string(),
    attempt: z.int().meta({ description: 'Number of attempts so far' }),
    status: z.enum(deliveryStatuses),
    response_status: z.int().nullable(),
    duration_ms: z.int().nullable(),
    error: z.string().nullable().meta({ description: 'Why there was no answer' }),
    next_attempt_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Delivery', description: 'One event for one webhook, with its last attempt' })

export const showDelivery = (row: DeliveryRow) => ({
  ...row,
  next_attempt_at: moment(row.next_attempt_at),
  created_at: rfc3339(row.created_at),
})

/** A webhook as a resource in policies. */
export const webhookResource = (row: WebhookRow) => ({
  type: 'webhook',
  id: row.id,
  fields: showWebhook(row),
})

import { z } from 'zod'

const field = <T extends z.ZodType>(schema: T, description: string, example: unknown) =>
  schema.meta({ description, examples: [example] })

const text = (description: string, example: string) => field(z.string(), description, example)
const id = (description: string) => field(z.uuid(), description, '019ab7c4-3d1e-7c05-8f7a-6d2f0c9b1e44')
const duration = (of: string) => field(z.number().nonnegative(), `Milliseconds from ${of}`, 12.4)
const requestId = text('`X-Request-Id` of the request, or of the one that caused this', 'd2f0c9b1-1e44-4a55')
const attempt = field(z.int().positive(), 'Number of the attempt, from 1', 1)
const kindOfError = text('Kind and codes of the error, never its message', 'Error ESOCKET 451')
const server = text('The server that failed, host and port', 'mail.example.com:587')
const actor = text('The actor, as `npm run worker -- <actor>` names it', 'email')
const outboxId = id('The message, by its row in the outbox')
const webhookId = id('The webhook')
const deliveryId = id('The delivery, as the API lists it')
const mailId = id('The mail; part of its Message-ID')
const tenantId = id('The tenant of the line')

const common = {
  level: field(z.int(), '20 debug, 30 info, 40 warn, 50 error, 60 fatal', 30),
  time: field(z.iso.datetime(), 'Time of the line, RFC 3339 in UTC', '2026-11-21T12:00:00.000Z'),
  pid: field(z.int(), 'Id of the process', 4711),
  hostname: text('Name of the machine or container', 'api-7d9f'),
  msg: text('What happened; identifies the kind of line', 'request'),
  trace_id: field(
    z.string().regex(/^[0-9a-f]{32}$/),
    'The trace, if the process sends traces',
    '0af7651916cd43dd8448eb211c80319c',
  ).optional(),
  span_id: field(z.string().regex(/^[0-9a-f]{16}$/), 'The span in the trace', 'b7ad6b7169203331').optional(),
}

const err = field(
  z.strictObject({ kind: z.string(), at: z.string().optional() }),
  '`kind`: kind and codes of the error; `at`: where it was thrown',
  { kind: 'Error 08006', at: 'at lostConnection (pool.ts:182:24)' },
)

interface Kind {
  title: string
  about: string
  msg: RegExp
  shape: z.core.$ZodLooseShape
}

/** Every kind of line: those for dashboards and alerts, then the rest. The first kind whose `msg` matches a line applies. */
export const kinds: Kind[] = [
  {
    title: 'Request',
    about: 'One per answered request; `msg` is `request`. API.',
    msg: /^request$/,
    shape: {
      request_id: requestId,
      method: text('Method', 'POST'),
      path: text('Path without its query', '/api/v1/auth/login/'),
      status: field(z.int().min(100).max(599), 'Status of the answer', 200),
      duration_ms: duration('the head of the request to the answer'),
      ip: text('Address of the client, behind `TRUSTED_PROXIES`', '203.0.113.7'),
      action: text('The action of the route, or `public`', 'tenant:read').optional(),
      user_id: id('The person of the access token').optional(),
      impersonator_id: id('The person who acts as `user_id`').optional(),
      tenant_id: id('The tenant of the request').optional(),
      decision_id: id('The decision, see `GET /api/v1/decisions/<id>/explain/`').optional(),
      code: text('The code of an error', 'permission_denied').optional(),
    },
  },
  {
    title: 'Job',
    about: 'One per handled job; `msg` is `job`. Worker.',
    msg: /^job$/,
    shape: {
      actor,
      outbox_id: outboxId,
      tenant_id: tenantId,
      request_id: requestId.optional(),
      attempt,
      duration_ms: duration('taking it off the queue to the commit'),
      count: field(
        z.int(),
        'How many messages the job carries, if more than one; the ids are those of the first',
        3,
      ).optional(),
    },
  },
  {
    title: 'Retry',
    about: 'A message failed and is retried; `msg` is `will be tried again`. Worker.',
    msg: /^will be tried again$/,
    shape: {
      actor,
      outbox_id: outboxId.optional(),
      tenant_id: tenantId.optional(),
      attempt: attempt.optional(),
      error: kindOfError,
      server: server.optional(),
      next_attempt_at: field(
        z.iso.datetime(),
        'Time of the next attempt',
        '2026-11-21T12:00:04.000Z',
      ).optional(),
    },
  },
  {
    title: 'Dead letter',
    about:
      'A message failed for good; `msg` begins with `became a dead letter`. Level 50, or 40 if the recipient was refused for good. Worker.',
    msg: /^became a dead letter/,
    shape: {
      actor: actor.optional(),
      outbox_id: outboxId,
      tenant_id: tenantId,
      attempts: field(z.int().nonnegative(), 'Number of attempts', 30).optional(),
      reason: field(
        z.enum(['failed', 'refused']),
        'Whether the message failed, or the recipient was refused for good',
        'refused',
      ).optional(),
      error: kindOfError.optional(),
      origin: field(z.array(z.string()), 'Where it was thrown', ['at send (email.ts:27:5)']).optional(),
      queue: text('The queue, if this version does not know it', 'sms').optional(),
    },
  },
  {
    title: 'Mail',
    about:
      '`msg` is `mail sent`, `mail was sent before` if another delivery was faster, or `mail not sent` for a notice beyond what an address gets in an hour. Worker.',
    msg: /^mail (was |not )?sent/,
    shape: {
      actor,
      mail_id: mailId,
      template: text('The template of the mail', 'email_verification').optional(),
      request_id: requestId.optional(),
    },
  },
  {
    title: 'Delivery',
    about:
      'One per attempt to post an event to a webhook; `msg` is `event delivered` (level 20) or `event not delivered`. Worker.',
    msg: /^event (not )?delivered$/,
    shape: {
      actor,
      tenant_id: tenantId,
      webhook_id: webhookId,
      delivery_id: deliveryId,
      event_id: id('The event, sent as `webhook-id`'),
      attempt,
      response_status: field(z.int().nullable(), 'Status of the answer; null without an answer', 503),
      duration_ms: duration('the look-up of the name to the end of the answer'),
      error: text('Why there was no answer, in a word', 'timeout').optional(),
    },
  },
  {
    title: 'Cleanup',
    about:
      '`msg` is `tidied up`; besides `actor`, a field with the number for each kind of row that was deleted or expired. Worker.',
    msg: /^tidied up$/,
    shape: { actor },
  },
  {
    title: 'Outage',
    about:
      '`msg` ends in `cannot be reached; trying again`, level 40, once per outage of Postgres, Redis, or a server that the relay needs; also for a mail server that does not answer at the start. It ends in `can be reached again`, level 30, when the outage is over. Worker.',
    msg: /(cannot be reached; trying again|can be reached again)$/,
    shape: { error: kindOfError.optional(), server: server.optional() },
  },
  {
    title: 'Start',
    about: '`msg` begins with `Listening on` (API) or is `actors started` (worker).',
    msg: /^(Listening on |actors started$)/,
    shape: {
      url: text('Where the API listens', 'http://127.0.0.1:3000').optional(),
      actors: field(z.array(z.string()), 'The actors of the worker', ['outbox-relay', 'email']).optional(),
    },
  },
  {
    title: 'Stop',
    about: 'The process got a signal to stop, and ends when the current work is done; `msg` is `stopping`.',
    msg: /^stopping$/,
    shape: { signal: text('The signal', 'SIGTERM') },
  },
  {
    title: 'Anything else',
    about:
      'From level 40, something that needs attention; `msg` is a sentence. A failed request has `request_id`, `code` and `err`.',
    msg: /./,
    shape: {
      err: err.optional(),
      error: kindOfError.optional(),
      request_id: requestId.optional(),
      code: text('The code of the answer, or of the connection error', 'internal_error').optional(),
      actor: actor.optional(),
      outbox_id: outboxId.optional(),
      ip: text('Address of the client', '203.0.113.7').optional(),
      user_id: id('The person of the line').optional(),
      tenant_id: tenantId.optional(),
      policy_id: id('The policy').optional(),
      version: field(z.int(), 'The version of the policy', 3).optional(),
      in_force: field(z.boolean(), 'False for a policy that is only tried', true).optional(),
      device_id: id('The second factor').optional(),
      webhook_id: webhookId.optional(),
      delivery_id: deliveryId.optional(),
      mail_id: mailId.optional(),
      reason: text('Why a webhook was disabled: `gone` or `failing`', 'gone').optional(),
      decisions: field(z.array(z.string()), 'Ids of decisions', ['019ab7c4-…']).optional(),
      count: field(z.int(), 'The number', 3).optional(),
      denials: field(z.int(), 'Number of denials or gates among them', 2).optional(),
      expired: field(z.int(), 'Number of expired rows', 2).optional(),
      event: field(z.unknown(), 'An event without its data; level 20', {
        type: 'tenant.member_added',
      }).optional(),
    },
  },
]

const isFigures = ({ title }: Kind) => title === 'Cleanup'

/** The faults of a line; none if it is as documented. `title` is the kind of line that it matched. */
export function faultsOf(line: { msg?: unknown }): { title: string; faults: string[] } {
  const kind = kinds.find(({ msg }) => msg.test(String(line.msg)))!
  const shape = { ...common, ...kind.shape }
  const schema = isFigures(kind) ? z.object(shape).catchall(z.int()) : z.strictObject(shape)
  const { error } = schema.safeParse(line)
  return { title: kind.title, faults: error?.issues.map((i) => `${i.path.join('.')}: ${i.message}`) ?? [] }
}

/** The tables of docs/reference/logs.md. */
export const tables = (): string =>
  [
    ['Every line', 'Every line has these fields.', common] as const,
    ...kinds.map(({ title, about, shape }) => [title, about, shape] as const),
  ]
    .map(([title, about, shape]) => `### ${title}\n\n${about}\n\n${tableOf(shape)}`)
    .join('\n\n')

const tableOf = (shape: z.core.$ZodLooseShape) =>
  ['| Field | Type | Meaning | Example |', '|---|---|---|---|', ...Object.entries(shape).map(rowOf)].join(
    '\n',
  )

function rowOf([name, schema]: [string, unknown]): string {
  const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : (schema as z.ZodType)
  const { description, examples = [] } = inner.meta() ?? {}
  const { type = 'object', format } = z.toJSONSchema(inner instanceof z.ZodNullable ? inner.unwrap() : inner)
  const kind = typeof format === 'string' && format !== 'safeint' ? `${type} (${format})` : type
  const orNull = inner instanceof z.ZodNullable ? ' or null' : ''
  const optional = schema instanceof z.ZodOptional ? ', optional' : ''
  return `| \`${name}\` | ${kind}${orNull}${optional} | ${description} | \`${JSON.stringify((examples as unknown[])[0])}\` |`
}

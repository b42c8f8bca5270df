import { z } from 'zod'

const field = <T extends z.ZodType>(schema: T, description: string, example: unknown) =>
  schema.meta({ description, examples: [example] })

const text = (description: string, example: string) => field(z.string(), description, example)
const id = (description: string) => field(z.uuid(), description, '019ab7c4-3d1e-7c05-8f7a-6d2f0c9b1e44')
const duration = (of: string) => field(z.number().nonnegative(), `Milliseconds from ${of}`, 12.4)
const requestId = text('`X-Request-Id` of the request, or of the one that caused this', 'd2f0c9b1-1e44-4a55')
const attempt = field(z.int().positive(), 'Which attempt this was, from 1', 1)
const kindOfError = text('Kind and codes of the error, never its words', 'Error ESOCKET 451')
const server = text('The server that it failed at, host and port', 'mail.example.com:587')
const actor = text('The actor, as `npm run worker -- <actor>` names it', 'email')
const outboxId = id('The message, by its row in the outbox')
const webhookId = id('A webhook')
const tenantId = id('The tenant it is about')

const common = {
  level: field(z.int(), '20 debug, 30 info, 40 warn, 50 error, 60 fatal', 30),
  time: field(z.iso.datetime(), 'When it was written, RFC 3339 in UTC', '2026-11-21T12:00:00.000Z'),
  pid: field(z.int(), 'Id of the process', 4711),
  hostname: text('Name of the machine or container', 'api-7d9f'),
  msg: text('What happened; which line it is', 'request'),
  trace_id: field(
    z.string().regex(/^[0-9a-f]{32}$/),
    'The trace it belongs to, where one is made',
    '0af7651916cd43dd8448eb211c80319c',
  ).optional(),
  span_id: field(z.string().regex(/^[0-9a-f]{16}$/), 'The span in it', 'b7ad6b7169203331').optional(),
}

const err = field(
  z.strictObject({ kind: z.string(), at: z.string().optional() }),
  '`kind`: kind and codes of the error; `at`: where it was thrown',
  { kind: 'Error 08006', at: 'at lost (read-pool.ts:91:13)' },
)

interface Kind {
  title: string
  about: string
  msg: RegExp
  shape: z.core.$ZodLooseShape
}

/** Every line: those of which dashboards and alarms are made, and the rest. The first whose `msg` fits is it. */
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
      action: text('What the route is decided as, or `public`', 'tenant:read').optional(),
      user_id: id('Who asked, where a token said so').optional(),
      tenant_id: id('The tenant the request was scoped to').optional(),
      decision_id: id('What `GET /api/v1/decisions/<id>/` explains').optional(),
      code: text('The code of an error', 'permission_denied').optional(),
    },
  },
  {
    title: 'Job',
    about: 'One per message that was handled; `msg` is `job`. Worker.',
    msg: /^job$/,
    shape: {
      actor,
      outbox_id: outboxId,
      tenant_id: tenantId,
      request_id: requestId.optional(),
      attempt,
      duration_ms: duration('taking it off the queue to the commit'),
    },
  },
  {
    title: 'Retry',
    about: 'A message was not handled and comes again; `msg` is `will be tried again`. Worker.',
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
        'When it is tried again',
        '2026-11-21T12:00:04.000Z',
      ).optional(),
    },
  },
  {
    title: 'Dead letter',
    about:
      'A message is given up; `msg` begins with `became a dead letter`. Level 50; 40 where the recipient was refused for good. Worker.',
    msg: /^became a dead letter/,
    shape: {
      actor: actor.optional(),
      outbox_id: outboxId,
      tenant_id: tenantId,
      attempts: field(z.int().nonnegative(), 'How often it was tried', 30).optional(),
      reason: field(
        z.enum(['failed', 'refused']),
        'Whether handling it failed, or the recipient refused it for good',
        'refused',
      ).optional(),
      error: kindOfError.optional(),
      origin: field(z.array(z.string()), 'Where it was thrown', ['at send (email.ts:27:5)']).optional(),
      queue: text('A queue that this version does not know', 'sms').optional(),
    },
  },
  {
    title: 'Mail',
    about: '`msg` is `mail sent`, or `mail was sent before` where another delivery was faster. Worker.',
    msg: /^mail (was )?sent/,
    shape: {
      actor,
      mail_id: id('The mail, also in its Message-ID'),
      template: text('Which letter it is', 'email_verification').optional(),
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
      delivery_id: id('The delivery, as the API lists it'),
      event_id: id('The event, sent as `webhook-id`'),
      attempt,
      response_status: field(z.int().nullable(), 'Status of the answer; null where there was none', 503),
      duration_ms: duration('the look-up of the name to the end of the answer'),
      error: text('Why there was no answer, in a word', 'timeout').optional(),
    },
  },
  {
    title: 'Tidying',
    about:
      '`msg` is `tidied up`; beside `actor` a field per kind of row that was deleted or expired, with how many. Worker.',
    msg: /^tidied up$/,
    shape: { actor },
  },
  {
    title: 'Outage',
    about:
      '`msg` ends in `cannot be reached; trying again`, level 40, once per outage: Postgres, Redis, or what the relay needs; the mail server where it does not answer at the start. It ends in `can be reached again`, level 30, when the outage is over. Worker.',
    msg: /(cannot be reached; trying again|can be reached again)$/,
    shape: { error: kindOfError.optional(), server: server.optional() },
  },
  {
    title: 'Start',
    about: '`msg` begins with `Listening on` (API) or is `actors started` (worker).',
    msg: /^(Listening on |actors started$)/,
    shape: {
      url: text('Where the API listens', 'http://127.0.0.1:3000').optional(),
      actors: field(z.array(z.string()), 'What the worker runs', ['outbox-relay', 'email']).optional(),
    },
  },
  {
    title: 'Stop',
    about: 'The process was told to stop, and ends when the work at hand is done; `msg` is `stopping`.',
    msg: /^stopping$/,
    shape: { signal: text('The signal', 'SIGTERM') },
  },
  {
    title: 'Anything else',
    about:
      'Something to look at, from level 40 on; `msg` is a sentence. A request that failed has `request_id`, `code` and `err`.',
    msg: /./,
    shape: {
      err: err.optional(),
      error: kindOfError.optional(),
      request_id: requestId.optional(),
      code: text('The code of the answer, or of the broken connection', 'internal_error').optional(),
      actor: actor.optional(),
      outbox_id: outboxId.optional(),
      ip: text('Address of the client', '203.0.113.7').optional(),
      user_id: id('Whom it is about').optional(),
      tenant_id: tenantId.optional(),
      device_id: id('A second factor').optional(),
      webhook_id: webhookId.optional(),
      reason: text('Why a webhook was disabled: `gone` or `failing`', 'gone').optional(),
      decisions: field(z.array(z.string()), 'Ids of decisions', ['019ab7c4-…']).optional(),
      count: field(z.int(), 'How many', 3).optional(),
      denials: field(z.int(), 'How many of them were denials or gates', 2).optional(),
      expired: field(z.int(), 'How many expired', 2).optional(),
      event: field(z.unknown(), 'An event without its data; level 20', {
        type: 'tenant.member_added',
      }).optional(),
    },
  },
]

const isFigures = ({ title }: Kind) => title === 'Tidying'

/** What is wrong with a line; nothing where it is as documented. `title` says which line it was taken for. */
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
    ['Every line', 'These fields stand in all of them.', common] as const,
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
  const optional = schema instanceof z.ZodOptional ? ', where known' : ''
  return `| \`${name}\` | ${kind}${orNull}${optional} | ${description} | \`${JSON.stringify((examples as unknown[])[0])}\` |`
}

import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders } from '../../lists/find-object.ts'
import { timestamp } from '../../request/body/schemas.ts'
import type { Bearer } from '../../request/caller.ts'
import { type Route, route } from '../../request/route.ts'
import { effectSchema, hintsShape, obligationSchema, reasonSchema } from '../decisions/answer-schemas.ts'
import { batchSchema, singleOf } from './batch.ts'
import { accessResource, evaluate } from './evaluate.ts'
import { batchResource, evaluateBatch } from './evaluate-batch.ts'
import { type Evaluation, evaluationSchema } from './evaluation.ts'
import { findEntities, knownSubject } from './load-evaluations.ts'

const stepUpSchema = z
  .object({ acr_values: z.enum(['aal1', 'aal2']), max_age: z.int().nullable(), possible: z.boolean() })
  .meta({
    description:
      'Of a question about yourself, with the obligation `step_up`: what your session lacks, as RFC 9470 names it; null: nothing. `possible`: whether the session can meet it',
  })

const answer = z
  .object({
    decision: z.boolean(),
    context: z.object({
      id: z.uuid().meta({ description: 'The id of the decision in the log' }),
      effect: effectSchema,
      reasons: z.array(reasonSchema),
      obligations: z.array(obligationSchema),
      step_up: stepUpSchema.nullable().optional(),
      ...hintsShape,
      policy_revision: z.int(),
      approval: z
        .object({ method: z.literal('POST'), path: z.string() })
        .optional()
        .meta({ description: 'An action of your application needs an approval: ask for it here' }),
      approval_request: z
        .union([
          z.object({ id: z.uuid(), status: z.enum(['pending', 'approved']), expires_at: timestamp }),
          z.object({ id: z.uuid(), valid_until: timestamp }),
        ])
        .optional()
        .meta({
          description:
            'The open request that asks the same. With `valid_until` it is approved and unused: consume it, then act',
        }),
    }),
  })
  .meta({ id: 'EvaluationAnswer' })

const itemError = z.object({
  decision: z.literal(false),
  context: z.object({
    error: z.object({
      status: z.int(),
      code: z.string(),
      message: z.string(),
      errors: z.array(z.object({ field: z.string(), code: z.string(), detail: z.string() })).optional(),
    }),
  }),
})

const batchAnswer = z
  .union([z.object({ evaluations: z.array(z.union([answer, itemError])) }), answer])
  .meta({ id: 'EvaluationsAnswer' })

const endpoints = {
  access_evaluation_endpoint: '/access/v1/evaluation',
  access_evaluations_endpoint: '/access/v1/evaluations',
  search_subject_endpoint: '/access/v1/search/subject',
  search_resource_endpoint: '/access/v1/search/resource',
  search_action_endpoint: '/access/v1/search/action',
} as const

const metadata = z.object({
  policy_decision_point: z.url(),
  ...(Object.fromEntries(Object.keys(endpoints).map((name) => [name, z.url()])) as {
    [Name in keyof typeof endpoints]: z.ZodURL
  }),
  issuer: z.string().meta({ description: 'The `iss` of access tokens' }),
  audience: z.string().meta({ description: 'The `aud` of access tokens' }),
})

const tag = 'Evaluation'

export const evaluationRoutes = (deps: Deps, objects: ObjectFinders): Route[] => {
  const partsOf = (read: Read, { tenantId, userId }: Bearer, evaluations: readonly Evaluation[]) =>
    findEntities(read, objects, { tenantId, userId, now: deps.clock() }, evaluations)
  return [
    route({
      method: 'POST',
      path: endpoints.access_evaluation_endpoint,
      action: 'access:evaluate',
      tag,
      summary: 'Ask whether a subject is permitted to do something',
      description:
        'AuthZEN 1.0, in the tenant of the token. Everyone can ask about themselves; a question about another needs `access:evaluate`, also as a scope of a key. A denial is 200 with `decision: false`. A subject of type `user` is a member, named by id, verified e-mail address or `external_id`; others are denied, and so is a name that fits two members (`ambiguous_subject`). Any other type belongs to your application: it has no roles, and only policies about everyone apply. Objects of this service are looked up in the tenant. An action without `:` is a verb of the type of the resource. What can be no action is denied with the reason `unknown_action`.',
      body: evaluationSchema,
      loadsByKeys: true,
      status: 200,
      answer,
      load: (read, { caller, body }) => partsOf(read, caller, [body]),
      resource: (entities, { caller, body }) => accessResource(knownSubject(entities, caller, body)),
      handle: ({ caller, body }, entities) => evaluate(deps, caller, entities, body),
    }),
    route({
      method: 'POST',
      path: endpoints.access_evaluations_endpoint,
      action: 'access:evaluate',
      tag,
      summary: 'Ask up to 1,000 questions at once',
      description:
        'AuthZEN 1.0. The members at the top are defaults; a `subject`, `action`, `resource` or `context` of an item replaces the default as a whole, except that its `type` can come from there. `deny_on_first_deny` and `permit_on_first_permit` stop early, so the answer can be shorter. A faulty item, and one that you may not ask, is `decision: false` with an `error` in its context. Without `evaluations`, this is one question, as at `/access/v1/evaluation`.',
      body: batchSchema,
      loadsByKeys: true,
      status: 200,
      answer: batchAnswer,
      load: async (read, { caller, body }) => {
        const evaluation = singleOf(body)
        return evaluation ? { evaluation, entities: await partsOf(read, caller, [evaluation]) } : 'several'
      },
      resource: (loaded, { caller }) =>
        loaded === 'several'
          ? batchResource(caller)
          : accessResource(knownSubject(loaded.entities, caller, loaded.evaluation)),
      handle: ({ caller, body }, loaded) =>
        loaded === 'several'
          ? evaluateBatch(deps, caller, body, (read, evaluations) => partsOf(read, caller, evaluations))
          : evaluate(deps, caller, loaded.entities, loaded.evaluation),
    }),
    route({
      access: 'public',
      method: 'GET',
      path: '/.well-known/authzen-configuration',
      tag,
      summary: 'Read where the endpoints of evaluation are',
      description: 'AuthZEN 1.0 metadata, and what the access tokens of the service name',
      status: 200,
      answer: metadata,
      handle: async () => ({
        policy_decision_point: deps.publicUrl(),
        ...(Object.fromEntries(
          Object.entries(endpoints).map(([name, path]) => [name, `${deps.publicUrl()}${path}`]),
        ) as Record<keyof typeof endpoints, string>),
        ...deps.signer.names(),
      }),
    }),
  ]
}

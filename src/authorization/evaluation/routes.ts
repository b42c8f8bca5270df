import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders } from '../../platform/find-object.ts'
import { publicRoute, type Route, resourceRoute } from '../../platform/http/route.ts'
import { effectSchema, hintsShape, obligationSchema, reasonSchema } from '../decisions/answer-schemas.ts'
import { accessResource, evaluate, loadQuestion } from './evaluate.ts'
import { questionSchema } from './question.ts'

const answer = z
  .object({
    decision: z.boolean(),
    context: z.object({
      id: z.uuid().meta({ description: 'The id of the decision in the log' }),
      effect: effectSchema,
      reasons: z.array(reasonSchema),
      obligations: z.array(obligationSchema),
      ...hintsShape,
      policy_revision: z.int(),
    }),
  })
  .meta({ id: 'EvaluationAnswer' })

const metadata = z.object({
  policy_decision_point: z.url(),
  access_evaluation_endpoint: z.url(),
})

const tag = 'Evaluation'

export const evaluationRoutes = (deps: Deps, objects: ObjectFinders): Route[] => [
  resourceRoute({
    method: 'POST',
    path: '/access/v1/evaluation',
    action: 'access:evaluate',
    tag,
    summary: 'Ask whether a subject is permitted to do something',
    description:
      'AuthZEN 1.0, in the tenant of the token. A denial is 200 with `decision: false`. A subject of type `user` is a member, named by id or verified e-mail address; others are denied. Any other type belongs to your application: it has no roles, and only policies about everyone apply. Objects of this service are looked up in the tenant.',
    body: questionSchema,
    status: 200,
    answer,
    load: ({ caller, body }) => loadQuestion(deps, objects, caller, body),
    resource: accessResource,
    handle: (loaded, { caller, body }) => evaluate(deps, caller, body, loaded),
  }),
  publicRoute({
    method: 'GET',
    path: '/.well-known/authzen-configuration',
    tag,
    summary: 'Read where the evaluation endpoint is',
    description: 'AuthZEN 1.0 metadata',
    status: 200,
    answer: metadata,
    handle: async () => ({
      policy_decision_point: deps.publicUrl(),
      access_evaluation_endpoint: `${deps.publicUrl()}/access/v1/evaluation`,
    }),
  }),
]

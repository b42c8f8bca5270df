import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { type Condition, dataTypes, operatorsByType } from '../../policy-engine/compile/conditions.ts'
import { type Route, route } from '../../request/route.ts'
import { hintsShape, obligationSchema } from '../decisions/answer-schemas.ts'
import { accessResource } from '../evaluation/evaluate.ts'
import { findMembersAskedAbout } from '../evaluation/load-evaluations.ts'
import { evaluationOf, planAccess, planSchema } from './plan-access.ts'

const scalar = z.union([z.string(), z.number(), z.boolean()])

const comparison = z.object({
  attribute: z.string(),
  operator: z.enum([...new Set(Object.values(operatorsByType).flat())]),
  value: z.union([scalar, z.array(scalar)]).optional(),
  value_from: z.string().optional(),
})

const condition: z.ZodType<unknown, Condition> = z
  .lazy(() =>
    z.union([
      z.object({ all: z.array(condition) }),
      z.object({ any: z.array(condition) }),
      z.object({ none: z.array(condition) }),
      comparison,
    ]),
  )
  .meta({
    id: 'Filter',
    description:
      'A condition as in a policy, without its limits, three-valued. It chooses a resource where it is true. A value that is missing or of another type makes a comparison unknown.',
  })

const answer = z
  .object({
    kind: z.enum(['always', 'never', 'conditional']),
    filter: condition.optional().meta({ description: 'Of `conditional`' }),
    obligations: z.array(
      obligationSchema.required().extend({
        filter: condition
          .nullable()
          .meta({ description: 'The permitted resources that it binds; null: all' }),
      }),
    ),
    attributes: z.record(z.string(), z.enum(dataTypes)).meta({
      description: 'The attributes that the filters compare, with their types',
    }),
    ...hintsShape,
    policy_revision: z.int(),
  })
  .meta({ id: 'Plan' })

export const planRoutes = (deps: Deps): Route[] => [
  route({
    method: 'POST',
    path: '/access/v1/plan',
    action: 'access:evaluate',
    tag: 'Evaluation',
    summary: 'Ask for which resources a subject is permitted to do something, as a filter',
    description:
      'What is left of roles and policies when everything but `resource.*` is known: a filter for the rows of your application, in place of a list of ids. It chooses what an evaluation permits that sends the row as `resource.properties` of a resource that is not registered, without approvals. A name that can be no action is `never`. Without a `subject` it is about the caller, and also then it asks `access:evaluate`. 422 `not_plannable` names a Rego module or a rule of the installation that looks at the resource; a filter above 64 KiB is 422 `too_large`.',
    body: planSchema,
    status: 200,
    answer,
    refusals: [422],
    loadsByKeys: true,
    load: async (read, { caller, body }) => ({
      subjects: await findMembersAskedAbout(read, caller, [evaluationOf(body, caller)]),
    }),
    resource: () => accessResource(null),
    handle: ({ caller, body }, parts) => planAccess(deps, caller, parts, evaluationOf(body, caller)),
  }),
]

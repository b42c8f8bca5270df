import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { isApplicationAction, serviceResources } from '../../policy-engine/catalogue/actions.ts'
import { type AttributeFaults, attributeFaults } from '../../policy-engine/evaluate/attribute-faults.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import { maxFilterBytes, type NoPlan, type Plan } from '../../policy-engine/plan/plan.ts'
import type { Caller } from '../../request/caller.ts'
import { type Hints, hintsOf } from '../decisions/answer-schemas.ts'
import {
  actionEntity,
  actionOf,
  checkBytes,
  type Evaluation,
  entity,
  evaluationContext,
  queryOf,
  text,
} from '../evaluation/evaluation.ts'
import { type Entities, knownSubject, policiesOf } from '../evaluation/load-evaluations.ts'
import { findUnknownWords } from '../evaluation/unknown-words.ts'
import { moduleLate } from '../policies/modules/module-late.ts'

/** An evaluation about all resources of a type. Without a subject it is about the caller. */
export const planSchema = z
  .object({
    subject: entity('subject').optional(),
    action: actionEntity,
    resource: z.object({ type: text('resource.type', 128) }, 'Give resource as an object.'),
    context: evaluationContext,
  })
  .superRefine((body, context) => checkBytes(body, context))
  .meta({ id: 'PlanRequest' })

type Body = z.output<typeof planSchema>

/** The evaluation of a plan, while none of its resources is examined. */
export const evaluationOf = (
  { subject, resource, ...body }: Body,
  caller: Pick<Caller, 'userId' | 'subjectType'>,
): Evaluation => ({
  ...body,
  subject: subject ?? { type: caller.subjectType, id: caller.userId },
  resource: { type: resource.type, id: 'any' },
})

/**
 * Says for which resources of a type of an application an evaluation is permitted, without looking at any. Approvals are ignored.
 * Throws 422 `not_plannable` for what no filter can say, and `too_large` for a filter above 64 KiB; 503 `policy_timeout`.
 */
export async function planAccess(
  deps: Deps,
  caller: Caller,
  entities: Pick<Entities, 'subjects'>,
  evaluation: Evaluation,
) {
  const { type } = evaluation.resource
  if (serviceResources.has(type)) throw notPlannable(type, ofTheService(type))
  const policies = await policiesOf(deps, caller)
  const { revision, callerKeys } = policies
  const action = actionOf(evaluation)
  // An action of the service is about objects of the service only, and any other name is no action.
  if (!isApplicationAction(action))
    return answerOf(
      { filter: false, obligations: [], attributes: {} },
      revision,
      hintsOf(true, {}, { action: true, resourceType: false }),
    )
  const now = deps.clock()
  const known = knownSubject(entities, caller, evaluation)
  const asked = { evaluation, action, known, isAmbiguous: false, object: 'of the application' as const }
  const [hinted] = await findUnknownWords(deps, caller, { policies, evaluations: [asked] })
  const slice = policies.slice(type, action, now)
  const query = queryOf(evaluation, { caller, action, known, slice, callerKeys, now })
  const plan = 'application' in query && deps.access.plan(query)
  if (!plan) throw new Error('An action of an application has a question of an application')
  if ('unplanned' in plan) throw refusalOf(plan)
  const hints = hintsOf(caller.may({ type: 'access' }), knownFaults(query), hinted!.unknown)
  return answerOf(plan, revision, hints)
}

/** The faults in what a plan knows. The attributes of the resources are in its filter. */
function knownFaults(query: AnyQuery): Partial<AttributeFaults> {
  const { missing, illTyped, ignored } = attributeFaults(query)
  const isKnown = (name: string) => !name.startsWith('resource.')
  return {
    missing: missing.filter(isKnown),
    illTyped: illTyped.filter(({ name }) => isKnown(name)),
    ignored,
  }
}

function answerOf({ filter, obligations, attributes }: Plan, revision: number, hints: Hints) {
  return {
    ...(typeof filter === 'boolean'
      ? { kind: filter ? ('always' as const) : ('never' as const) }
      : { kind: 'conditional' as const, filter }),
    obligations: obligations.map(({ type, properties = {}, filter }) => ({ type, properties, filter })),
    attributes,
    ...hints,
    policy_revision: revision,
  }
}

const ofTheService = (type: string) =>
  `${type} is a resource of this service. Its list shows the caller only what they may see.`

const notPlannable = (name: string, detail: string) =>
  new ApiError(422, 'not_plannable', detail, { members: { name } })

const sentences = {
  module: 'The Rego module of this policy looks at the resource',
  rule: 'This rule of the installation looks at the resource',
}

function refusalOf(plan: NoPlan): ApiError {
  if (plan.unplanned === 'late') return moduleLate()
  if (!('name' in plan))
    return new ApiError(
      422,
      'too_large',
      `The filter would have more than ${maxFilterBytes / 1024} KiB. Compare with fewer departments and shorter lists, or ask about each resource.`,
    )
  return notPlannable(
    plan.name,
    `${sentences[plan.unplanned]}, which no filter can say: ${plan.name}. Ask about each resource.`,
  )
}

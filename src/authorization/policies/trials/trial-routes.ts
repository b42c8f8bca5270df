import { z } from 'zod'
import type { Deps } from '../../../deps.ts'
import { type Route, route } from '../../../request/route.ts'
import {
  effectSchema,
  illTypedSchema,
  matchedSchema,
  obligationSchema,
  reasonSchema,
} from '../../decisions/answer-schemas.ts'
import { readPolicySchema } from '../policy-schema.ts'
import { findTarget, policyResource } from '../read-policy.ts'
import { draftPreview, policyPreview, previewPolicy } from './preview-policy.ts'
import { draftTest, policyTest, testPolicy } from './test-policy.ts'

const testAnswer = z
  .object({
    effect: effectSchema.optional().meta({ description: 'The decision with this policy in force' }),
    allowed: z.boolean().optional(),
    applies: z.boolean().optional().meta({ description: 'Whether this policy applies' }),
    matched: z.array(matchedSchema).optional(),
    reasons: z.array(reasonSchema).optional(),
    obligations: z.array(obligationSchema).optional(),
    missing_attributes: z.array(z.string()).optional(),
    ill_typed_attributes: illTypedSchema.optional(),
    trace: z
      .unknown()
      .optional()
      .meta({ description: 'The condition, with the values that it was compared with' }),
    messages: z.array(z.string()).optional().meta({ description: 'Of the kind rego: what its module says' }),
    cases: z.array(
      z.object({ name: z.string(), effect: effectSchema, expect: effectSchema, passed: z.boolean() }),
    ),
    withheld: z.array(z.string()).meta({
      description:
        'Attributes of the member and the registered resource that you cannot read (`member:list`, `registered_resource:list`), or that do not exist where some are hidden from you: the test was made without them, and the trace says `withheld`',
    }),
    duration_us: z.int(),
  })
  .meta({ id: 'PolicyTestAnswer' })

const previewAnswer = z
  .object({
    evaluated: z.int().meta({
      description: 'Recorded decisions about the actions of the policy that were decided again',
    }),
    not_replayable: z.int().meta({
      description: 'Those that could not be: `promote` then asks for `accept_unreplayed`',
    }),
    missing_attributes: z.record(z.string(), z.int()).meta({
      description: 'How many of these were recorded without each attribute that policies read now',
    }),
    ill_typed_attributes: z.array(illTypedSchema.element.extend({ decisions: z.int() })).meta({
      description:
        'Attributes that the policy reads and that had a value of another type in so many of the `evaluated`, where it counts as missing',
    }),
    ignored_properties: z.record(z.string(), z.int()).meta({
      description:
        'In how many of the `evaluated` the question sent each attribute that the policy reads, but a registered or built-in value counts, or none',
    }),
    counts: z.record(z.string(), z.int()),
    flips: z.array(
      z.object({
        decision_id: z.uuid(),
        action: z.string(),
        subject: z.object({ id: z.string().nullable(), email: z.string().nullable() }),
        resource: z.object({ type: z.string(), id: z.string().nullable() }),
        before: effectSchema.meta({ description: 'With all policies as they are now' }),
        after: effectSchema.meta({ description: 'With this policy, too' }),
        withheld: z
          .array(z.string())
          .meta({ description: 'Members above that are masked for you, and null' }),
      }),
    ),
    withheld: z.int().meta({
      description:
        'Recorded decisions that you cannot read (`decision:list`, `decision:read`): they were not decided again',
    }),
    promotion_token: z
      .string()
      .nullable()
      .meta({ description: 'For `promote`: of a stored policy in shadow mode; valid for an hour' }),
  })
  .meta({ id: 'PolicyPreview' })

const one = '/api/v1/policies/:id'
const tag = 'Policies'

/** The routes that try a policy without storing it. */
export const trialRoutes = (deps: Deps): Route[] => [
  route({
    method: 'POST',
    path: `${one}/test`,
    action: 'policy:test',
    tag,
    summary: 'Try a policy, or a draft in its place',
    description: 'Writes nothing. `{}` asks for yourself and the first action of the policy.',
    body: policyTest,
    status: 200,
    answer: testAnswer,
    refusals: [409, 422],
    load: findTarget,
    resource: policyResource,
    handle: ({ caller, body, text }, target) => testPolicy(deps, caller, target, body, text),
  }),
  route({
    method: 'POST',
    path: `${one}/preview`,
    action: 'policy:test',
    tag,
    summary: 'List the recorded decisions that a policy, or a draft in its place, would change',
    body: policyPreview,
    status: 200,
    answer: previewAnswer,
    refusals: [409, 422],
    load: findTarget,
    resource: policyResource,
    handle: ({ caller, body, text }, target) => previewPolicy(deps, caller, target, body, text),
  }),
  route({
    method: 'POST',
    path: '/api/v1/policies/test-draft',
    action: 'policy:test',
    tag,
    summary: 'Try a draft of a new policy',
    description: 'As `POST /policies/{id}/test/`, before the policy is stored.',
    body: draftTest,
    status: 200,
    answer: testAnswer,
    refusals: [409, 422],
    load: (read, { caller }) => readPolicySchema(read, caller.tenantId),
    handle: ({ caller, body, text }, schema) => testPolicy(deps, caller, { row: null, schema }, body, text),
  }),
  route({
    method: 'POST',
    path: '/api/v1/policies/preview-draft',
    action: 'policy:test',
    tag,
    summary: 'List the recorded decisions that a draft of a new policy would change',
    body: draftPreview,
    status: 200,
    answer: previewAnswer,
    refusals: [409, 422],
    load: (read, { caller }) => readPolicySchema(read, caller.tenantId),
    handle: ({ caller, body, text }, schema) =>
      previewPolicy(deps, caller, { row: null, schema }, body, text),
  }),
]

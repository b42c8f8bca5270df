import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { patternCost } from '../../platform/access/pattern-cost.ts'
import { policyEffects } from '../../platform/access/policy-document.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { changePolicy, createPolicy, rollBackPolicy } from './change-policy.ts'
import { removePolicy } from './delete-policy.ts'
import { newPolicy, policyChange } from './policy-body.ts'
import { policyPreview, previewPolicy } from './preview-policy.ts'
import { pageOfPolicies, pageOfVersions, readPolicy } from './read-policy.ts'
import { policySchema, showPolicy, versionSchema } from './show-policy.ts'
import { policyList } from './store.ts'
import { policyTest, testPolicy } from './test-policy.ts'
import { versionList } from './version-store.ts'
import type { PolicyDeps, Written } from './write-policy.ts'

const rollback = z.object({
  version: z.int('Give the version as a whole number.').min(1, 'Versions begin at 1.').max(2_000_000_000),
  change_reason: z
    .string('Give the reason as text.')
    .max(1000, 'A reason may have 1000 characters at most.')
    .default(''),
})

const effect = z.enum(policyEffects)
const reason = z.object({
  code: z.string(),
  layer: z.string(),
  message: z.string(),
  policy_id: z.string().optional(),
})

const testAnswer = z
  .object({
    effect: effect.optional().meta({ description: 'The whole decision with this policy in force' }),
    allowed: z.boolean().optional(),
    applies: z.boolean().optional().meta({ description: 'Whether this policy has a say' }),
    matched: z
      .array(z.object({ policy_id: z.uuid(), version: z.int(), name: z.string(), effect }))
      .optional(),
    reasons: z.array(reason).optional(),
    obligations: z
      .array(z.object({ type: z.string(), properties: z.record(z.string(), z.unknown()).optional() }))
      .optional(),
    missing_attributes: z.array(z.string()).optional(),
    trace: z.unknown().optional().meta({ description: 'The condition with the values it met' }),
    cases: z.array(z.object({ name: z.string(), effect, expect: effect, passed: z.boolean() })),
    duration_us: z.int(),
  })
  .meta({ id: 'PolicyTestAnswer' })

const previewAnswer = z
  .object({
    evaluated: z.int(),
    not_replayable: z.int(),
    counts: z.record(z.string(), z.int()),
    flips: z.array(
      z.object({
        decision_id: z.uuid(),
        action: z.string(),
        subject: z.object({ id: z.string(), email: z.string().nullable() }),
        resource: z.object({ type: z.string(), id: z.string().nullable() }),
        before: effect,
        after: effect,
      }),
    ),
  })
  .meta({ id: 'PolicyPreview' })

const answerOf = ({ row, roles, warnings }: Written) => showPolicy(row, roles, warnings)

const one = '/api/v1/policies/:id'
const tag = 'Policies'

export const policyRoutes = (shared: Deps): Route[] => {
  const deps: PolicyDeps = { ...shared, patternCostUs: patternCost() }
  return [
    route({
      method: 'GET',
      path: '/api/v1/policies',
      action: 'policy:list',
      tag,
      summary: 'List the policies of your tenant',
      query: policyList.query,
      status: 200,
      answer: pageOf(policySchema),
      handle: ({ caller, query }) => pageOfPolicies(deps, caller, query),
    }),
    route({
      method: 'POST',
      path: '/api/v1/policies',
      action: 'policy:create',
      tag,
      summary: 'Create a policy',
      description: 'It counts from the next request on. A deny is above a gate, a gate above an allow.',
      body: newPolicy,
      status: 201,
      answer: policySchema,
      refusals: [409, 422],
      handle: async ({ caller, body, text }) => answerOf(await createPolicy(deps, caller, body, text)),
    }),
    route({
      method: 'GET',
      path: one,
      action: 'policy:read',
      decides: 'resource',
      tag,
      summary: 'Read a policy',
      status: 200,
      answer: policySchema,
      versioned: true,
      handle: async ({ caller, params }) => {
        const { row, roles } = await readPolicy(deps, caller, pathId(params.id))
        return new Versioned(row.version, showPolicy(row, roles))
      },
    }),
    ...(['PUT', 'PATCH'] as const).map((method) =>
      route({
        method,
        path: one,
        action: 'policy:update',
        decides: 'resource',
        tag,
        summary: 'Change a policy',
        description: 'Writes its next version; what is absent stays as it is.',
        body: policyChange,
        status: 200,
        answer: policySchema,
        refusals: [422],
        versioned: true,
        handle: async ({ caller, params, body, ifMatch, text }) =>
          answerOf(await changePolicy(deps, caller, pathId(params.id), { change: body, ifMatch, text })),
      }),
    ),
    route({
      method: 'DELETE',
      path: one,
      action: 'policy:delete',
      decides: 'resource',
      tag,
      summary: 'Delete a policy',
      status: 204,
      answer: null,
      versioned: true,
      handle: async ({ caller, params, ifMatch }) => {
        await removePolicy(deps, caller, pathId(params.id), ifMatch)
        return undefined
      },
    }),
    route({
      method: 'GET',
      path: `${one}/versions`,
      action: 'policy:read',
      decides: 'resource',
      tag,
      summary: 'List the versions of a policy, newest first',
      query: versionList.query,
      status: 200,
      answer: pageOf(versionSchema),
      handle: ({ caller, params, query }) => pageOfVersions(deps, caller, pathId(params.id), query),
    }),
    route({
      method: 'POST',
      path: `${one}/rollback`,
      action: 'policy:update',
      decides: 'resource',
      tag,
      summary: 'Write an earlier version of a policy again',
      body: rollback,
      status: 200,
      answer: policySchema,
      refusals: [422],
      handle: async ({ caller, params, body, text }) =>
        answerOf(
          await rollBackPolicy(deps, caller, pathId(params.id), body.version, body.change_reason, text),
        ),
    }),
    route({
      method: 'POST',
      path: `${one}/test`,
      action: 'policy:test',
      decides: 'resource',
      tag,
      summary: 'Try a policy, or a draft in its place',
      description: 'Writes nothing. `{}` asks for yourself and the first action of the policy.',
      body: policyTest,
      status: 200,
      answer: testAnswer,
      refusals: [422],
      handle: ({ caller, params, body, text }) => testPolicy(deps, caller, pathId(params.id), body, text),
    }),
    route({
      method: 'POST',
      path: `${one}/preview`,
      action: 'policy:test',
      decides: 'resource',
      tag,
      summary: 'Say which recorded decisions a policy, or a draft in its place, would turn',
      body: policyPreview,
      status: 200,
      answer: previewAnswer,
      refusals: [422],
      handle: ({ caller, params, body, text }) => previewPolicy(deps, caller, pathId(params.id), body, text),
    }),
  ]
}

import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { patternCost } from '../../platform/access/pattern-cost.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { listQuery, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { changePolicy, createPolicy, rollBackPolicy } from './change-policy.ts'
import { removePolicy } from './delete-policy.ts'
import { newPolicy, policyChange } from './policy-body.ts'
import { pageOfPolicies, pageOfVersions, readPolicy } from './read-policy.ts'
import { policySchema, showPolicy, versionSchema } from './show-policy.ts'
import type { PolicyDeps, Written } from './write-policy.ts'

const rollback = z.object({
  version: z.int('Give the version as a whole number.').min(1, 'Versions begin at 1.').max(2_000_000_000),
  change_reason: z
    .string('Give the reason as text.')
    .max(1000, 'A reason may have 1000 characters at most.')
    .default(''),
})

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
      query: listQuery,
      status: 200,
      answer: pageOf(policySchema),
      handle: ({ actor, query }) => pageOfPolicies(deps, actor, query),
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
      handle: async ({ actor, body, text }) => answerOf(await createPolicy(deps, actor, body, text)),
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
      handle: async ({ actor, params }) => {
        const { row, roles } = await readPolicy(deps, actor, pathId(params.id))
        return showPolicy(row, roles)
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
        handle: async ({ actor, params, body, text }) =>
          answerOf(await changePolicy(deps, actor, pathId(params.id), body, text)),
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
      handle: async ({ actor, params }) => {
        await removePolicy(deps, actor, pathId(params.id))
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
      query: listQuery,
      status: 200,
      answer: pageOf(versionSchema),
      handle: ({ actor, params, query }) => pageOfVersions(deps, actor, pathId(params.id), query),
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
      handle: async ({ actor, params, body, text }) =>
        answerOf(
          await rollBackPolicy(deps, actor, pathId(params.id), body.version, body.change_reason, text),
        ),
    }),
  ]
}

import { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { pageOf, together } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { changesOnly } from '../../request/body/changes-only.ts'
import { overtaken, type Route, route, type Target } from '../../request/route.ts'
import { findRollback, planChange, planCreation, planRollback } from './change-policy.ts'
import { removePolicy } from './delete-policy.ts'
import { changeReason, newPolicy, policyChange } from './policy-body.ts'
import { readPolicySchema } from './policy-schema.ts'
import { findTarget, policies, policyResource, versions } from './read-policy.ts'
import { policySchema, showPolicy, versionSchema } from './show-policy.ts'
import { versionList } from './store.ts'
import { planPromotion, promotion } from './trials/promote-policy.ts'
import { policyStats, showStats } from './trials/show-stats.ts'
import { trialRoutes } from './trials/trial-routes.ts'
import { type Plan, writePolicy } from './write-policy.ts'

const rollback = z.object({
  version: z.int('Give the version as a whole number.').min(1, 'Versions begin at 1.').max(2_000_000_000),
  change_reason: changeReason,
})

const one = '/api/v1/policies/:id'
const tag = 'Policies'

export const policyRoutes = (deps: Deps): Route[] => {
  const write = async (tx: Tx, { caller }: Pick<Target, 'caller'>, _loaded: unknown, plan: Plan) => {
    const written = await writePolicy(tx, deps, caller, plan)
    return written === overtaken ? overtaken : showPolicy(written.row, written.roles, written.warnings)
  }
  return [
    route({
      method: 'GET',
      action: 'policy:list',
      readAction: 'policy:read',
      tag,
      summary: 'List the policies of your tenant',
      status: 200,
      answer: pageOf(policySchema),
      ...policies(deps),
    }),
    route({
      method: 'POST',
      path: '/api/v1/policies',
      action: 'policy:create',
      tag,
      summary: 'Create a policy',
      description:
        'It applies from the next request on. A deny overrides a `require_approval`, which overrides an allow.',
      body: newPolicy,
      status: 201,
      answer: policySchema,
      refusals: [409, 422],
      load: (tx: Tx, { caller }: Target) => readPolicySchema(tx, caller.tenantId),
      prepare: ({ caller, body, text }, schema) => planCreation(deps, caller, schema, body, text),
      act: write,
    }),
    route({
      method: 'GET',
      path: one,
      action: 'policy:read',
      tag,
      summary: 'Read a policy',
      status: 200,
      answer: policySchema,
      versioned: true,
      load: findTarget,
      resource: policyResource,
      handle: (_input, { row, schema: { roles } }) => new Versioned(row.version, showPolicy(row, roles)),
    }),
    ...(['PUT', 'PATCH'] as const).map((method) =>
      route({
        method,
        path: one,
        action: 'policy:update',
        tag,
        summary: 'Change a policy',
        description:
          'Writes the next version. Absent members keep their value. A managed policy (`managed_by`) answers 409 `managed`; if `is_optional`, `is_active` can change.',
        body: policyChange,
        status: 200,
        answer: policySchema,
        refusals: [409, 422],
        versioned: true,
        load: findTarget,
        resource: policyResource,
        prepare: (input, target) => planChange(deps, input.caller, target, input),
        takesAway: ({ body: { change_reason: _, ...body } }, { row }) =>
          row.is_active && changesOnly(body, { is_active: false }),
        act: write,
      }),
    ),
    route({
      method: 'DELETE',
      path: one,
      action: 'policy:delete',
      tag,
      summary: 'Delete a policy',
      status: 204,
      answer: null,
      refusals: [409],
      versioned: true,
      load: findTarget,
      resource: policyResource,
      act: (tx, { caller, ifMatch }, target) => removePolicy(tx, deps, caller, target, ifMatch),
    }),
    route({
      method: 'GET',
      path: `${one}/versions`,
      action: 'policy:read',
      tag,
      summary: 'List the versions of a policy, newest first',
      query: versionList.query,
      status: 200,
      answer: pageOf(versionSchema),
      load: (read, input) => together(findTarget(read, input), versions(deps).load(read, input)),
      resource: ({ found }) => policyResource(found),
      handle: (input, { page }) => versions(deps).handle(input, page),
    }),
    route({
      method: 'POST',
      path: `${one}/rollback`,
      action: 'policy:update',
      tag,
      summary: 'Restore an earlier version of a policy',
      body: rollback,
      status: 200,
      answer: policySchema,
      refusals: [409, 422],
      load: (tx: Tx, input: Target & { body: { version: number } }) =>
        findRollback(tx, input, input.body.version),
      resource: policyResource,
      prepare: ({ caller, body, text }, target) => planRollback(deps, caller, target, body, text),
      act: write,
    }),
    ...trialRoutes(deps),
    route({
      method: 'POST',
      path: `${one}/promote`,
      action: 'policy:update',
      tag,
      summary: 'Enforce a policy that is in shadow mode, as you previewed it',
      description:
        'Takes the `promotion_token` of your preview. 400 `outdated` if a policy has changed since, or after an hour.',
      body: promotion,
      status: 200,
      answer: policySchema,
      refusals: [409, 422],
      load: findTarget,
      resource: policyResource,
      prepare: ({ caller, body, text }, target) => planPromotion(deps, caller, target, { body, text }),
      act: write,
    }),
    route({
      method: 'GET',
      path: `${one}/stats`,
      action: 'policy:read',
      tag,
      summary: 'Read what a policy would have done in shadow mode, by day',
      status: 200,
      answer: policyStats,
      load: findTarget,
      resource: policyResource,
      handle: ({ caller }, target) => showStats(deps, caller, target),
    }),
  ]
}

import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { createRule } from './create-rule.ts'
import { removeRule } from './delete-rule.ts'
import { newRule, ruleResource, ruleSchema, showRule } from './rule-schemas.ts'
import { countRules, findRule, listRules, ruleList } from './store.ts'

const tag = 'Directory'
const all = '/api/v1/directory/rules'

const lockedRule = async (tx: Tx, { caller: { tenantId }, params }: Target) => {
  await lockTenant(tx, tenantId)
  return findRule(tx, { tenantId, id: pathId(params.id) })
}

export const directoryRuleRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'directory:read',
    tag,
    summary: 'List what the groups of your directory give their members',
    status: 200,
    answer: pageOf(ruleSchema),
    ...listing(deps, {
      path: all,
      list: ruleList,
      rows: (read, { caller: { tenantId } }, page) =>
        pageAndCount(listRules(read, tenantId, page), countRules(read, tenantId, page)),
      show: showRule,
    }),
  }),
  route({
    method: 'POST',
    path: all,
    action: 'directory:update',
    tag,
    summary: 'Give the members of a group roles, or a department',
    description:
      'Holds for those who are in the group, and who come. At most the roles that you can give; never owner. A member has the department of the oldest rule that gives one.',
    body: newRule,
    status: 201,
    answer: ruleSchema,
    refusals: [409],
    act: async (tx, { caller, body }) => showRule(await createRule(tx, deps, caller, body)),
  }),
  route({
    method: 'DELETE',
    path: `${all}/:id`,
    action: 'directory:update',
    tag,
    summary: 'Delete a rule',
    description:
      'Members lose the roles that no other rule gives them. What a person or a connection gave stays, and the department.',
    status: 204,
    answer: null,
    load: lockedRule,
    resource: ruleResource,
    act: (tx, { caller }, rule) => removeRule(tx, deps, caller, rule),
  }),
]

import type { ObjectFinders } from '../lists/find-object.ts'
import { lister, type ObjectListers } from '../lists/list-objects.ts'
import { fieldsOf } from './approvals/show-request.ts'
import { findRequest, listRequests, type RequestRow, requestList } from './approvals/store.ts'
import { builtInDefinitions } from './attributes/built-in.ts'
import { definitionResource, findAnyDefinition } from './attributes/read-attributes.ts'
import { definitionList, pageOfDefinitions } from './attributes/store.ts'
import { decisionResource } from './decisions/read-decisions.ts'
import { decisionList, findDecision, listDecisions } from './decisions/store.ts'
import { readPolicySchema } from './policies/policy-schema.ts'
import { policyResource } from './policies/read-policy.ts'
import { findPolicy, listPolicies, policyList } from './policies/store.ts'
import { registrationResource } from './resources/resource-schemas.ts'
import { findResourceById, listResources, resourceList } from './resources/store.ts'

const requestResource = (request: RequestRow) => ({
  id: request.id,
  ownerId: request.account_id ?? request.requester_id,
  fields: { ...fieldsOf(request) },
})

/** Finds the objects of this context as resources of decisions. */
export const authorizationObjects: ObjectFinders = {
  async policy(read, { tenantId }, id) {
    const [row, schema] = await Promise.all([
      findPolicy(read, tenantId, id),
      readPolicySchema(read, tenantId),
    ])
    return row && policyResource({ row, schema })
  },
  async attribute_definition(read, { tenantId }, id) {
    const definition = await findAnyDefinition(read, tenantId, id)
    return definition && definitionResource(definition)
  },
  async registered_resource(read, { tenantId }, id) {
    const row = await findResourceById(read, tenantId, id)
    return row && registrationResource(row)
  },
  async approval_request(read, { tenantId, now }, id) {
    const request = await findRequest(read, tenantId, id, now)
    return request && requestResource(request)
  },
  async decision(read, { tenantId }, id) {
    const row = await findDecision(read, tenantId, id)
    return row && decisionResource({ row, whole: true })
  },
}

/** Lists the objects of this context, for searches. */
export const authorizationLists: ObjectListers = {
  policy: lister(
    policyList,
    async (tx, { tenantId }, page) => {
      const schema = await readPolicySchema(tx, tenantId)
      return (await listPolicies(tx, tenantId, page)).map((row) => ({ ...row, schema }))
    },
    ({ schema, ...row }) => policyResource({ row, schema }),
  ),
  attribute_definition: lister(
    definitionList,
    (tx, { tenantId }, page) => pageOfDefinitions(tx, tenantId, builtInDefinitions, page),
    definitionResource,
  ),
  registered_resource: lister(
    resourceList,
    (tx, { tenantId }, page) => listResources(tx, tenantId, page),
    registrationResource,
  ),
  approval_request: lister(
    requestList,
    (tx, { tenantId, userId, now }, page) =>
      listRequests(tx, { tenantId, userId, roleIds: [] }, { view: 'all', now, page }),
    requestResource,
  ),
  decision: lister(
    decisionList,
    (tx, { tenantId }, page) => listDecisions(tx, tenantId, null, page),
    (row) => decisionResource({ row, whole: true }),
  ),
}

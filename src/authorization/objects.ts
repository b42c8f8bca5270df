import type { ObjectFinders } from '../platform/find-object.ts'
import { showRequest } from './approvals/show-request.ts'
import { findRequest } from './approvals/store.ts'
import { definitionResource, findAnyDefinition } from './attributes/read-attributes.ts'
import { decisionResource } from './decisions/read-decisions.ts'
import { findDecision } from './decisions/store.ts'
import { readPolicySchema } from './policies/policy-schema.ts'
import { policyResource } from './policies/read-policy.ts'
import { findPolicy } from './policies/store.ts'

/** Finds the objects of this context as resources of decisions. */
export const authorizationObjects: ObjectFinders = {
  async policy(tx, { tenantId }, id) {
    const row = await findPolicy(tx, tenantId, id)
    return row && policyResource({ row, schema: await readPolicySchema(tx, tenantId) })
  },
  async attribute_definition(tx, { tenantId }, id) {
    const definition = await findAnyDefinition(tx, tenantId, id)
    return definition && definitionResource(definition)
  },
  async approval_request(tx, { tenantId, now }, id) {
    const request = await findRequest(tx, tenantId, id, now)
    return request && { ownerId: request.requester_id, fields: { ...showRequest(request) } }
  },
  async decision(tx, { tenantId }, id) {
    const row = await findDecision(tx, tenantId, id)
    return row && decisionResource({ row, whole: true })
  },
}

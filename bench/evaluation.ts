import { builtInAttributes } from '../src/policy-engine/catalogue/built-in-attributes.ts'
import { compilePolicy } from '../src/policy-engine/compile/compile-policy.ts'
import { buildSlice } from '../src/policy-engine/compile/slice.ts'
import { type ApplicationQuery, policyInput } from '../src/policy-engine/evaluate/query.ts'

// The same ten policies and the same question for `POST /access/v1/evaluation` and for `opa run --server`.

const conditions = (index: number) => ({
  all: [
    { attribute: 'subject.id', operator: 'eq', value: index === 0 ? 'alice' : `person-${index}` },
    { attribute: 'resource.id', operator: 'starts_with', value: 'record-' },
    { attribute: 'environment.hour', operator: 'between', value: [0, 23] },
  ],
})

/** Bodies of `POST /api/v1/policies/`. One of them permits the question. */
export const applicationPolicies = Array.from({ length: 10 }, (_none, index) => ({
  name: `Policy ${index}`,
  effect: 'allow' as const,
  actions: ['record:read'],
  conditions: conditions(index),
}))

export const evaluationBody = JSON.stringify({
  subject: { type: 'customer', id: 'alice' },
  action: { name: 'read' },
  resource: { type: 'record', id: 'record-1' },
})

/** As many questions about different records, for `POST /access/v1/evaluations`. */
export const batchBody = (size: number) =>
  JSON.stringify({
    subject: { type: 'customer', id: 'alice' },
    action: { name: 'read' },
    evaluations: Array.from({ length: size }, (_none, index) => ({
      resource: { type: 'record', id: `record-${index}` },
    })),
  })

const slice = () => {
  const policies = applicationPolicies.map(({ effect, actions, conditions, name }, index) => {
    const source = {
      effect,
      actions,
      conditions,
      resource_types: [],
      subjects: {},
      valid_from: null,
      valid_until: null,
      approval: null,
      obligations: [],
    }
    const result = compilePolicy(source, { attributes: builtInAttributes, role: (role) => role })
    if ('faults' in result) throw new Error(JSON.stringify(result.faults))
    return { id: `policy-${index}`, version: 1, name, priority: 0, compiled: result.policy }
  })
  return buildSlice('tenant', 1, policies)
}

/** The same questions for `data.batch.decisions`, which opa-server.ts defines. */
export function opaBatch(size: number): string {
  const { input } = JSON.parse(opaQuestion().body)
  const questions = Array.from({ length: size }, (_none, index) => ({
    ...input,
    resource: { ...input.resource, id: `record-${index}` },
    attrs: { ...input.attrs, 'resource.id': `record-${index}` },
  }))
  return JSON.stringify({ input: { questions } })
}

/** What the policies read of that question, as the service passes it to the module: the slice and the input. */
export function opaQuestion(): { slice: string; body: string } {
  const query: ApplicationQuery = {
    application: true,
    requestId: '018f0000-0000-7000-8000-000000000001',
    now: Date.now(),
    phase: 'resource',
    subject: {
      type: 'customer',
      id: 'alice',
      email: null,
      emailVerified: false,
      tenantId: 'tenant',
      membership: null,
      session: null,
    },
    tenant: { id: 'tenant', status: 'active', requireMfa: false },
    action: 'record:read',
    resource: { type: 'record', id: 'record-1', tenantId: 'tenant', ownerId: null },
    environment: { ip: null, userAgent: null },
    slice: slice(),
  }
  return { slice: query.slice.text, body: JSON.stringify({ input: policyInput(query) }) }
}

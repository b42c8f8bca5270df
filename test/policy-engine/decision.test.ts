import t from 'tap'
import { readDecision } from '../../src/policy-engine/evaluate/decision.ts'
import { roleQuery } from '../../src/policy-engine/opa/role-table.ts'

const query = roleQuery('tenant:read', ['member'], 'me')
const answer = {
  request_id: 'request',
  tenant_id: 'tenant',
  effect: 'allow',
  reasons: [{ code: 'role_grant', layer: 'rbac' }],
  matched: [],
  obligations: [],
  approval: null,
  provisional: false,
}
const read = (changes: object) => readDecision({ ...answer, ...changes }, query)

t.test('a complete answer to the query is accepted', async (t) => {
  t.equal(read({}).effect, 'allow')
  t.equal(read({ effect: 'deny' }).effect, 'deny')
})

t.test('any other answer is refused', async (t) => {
  for (const result of [undefined, null, true, 'allow']) {
    t.throws(() => readDecision(result, query), { message: /no answer/ })
  }
  for (const result of [{}, [], [{ result: answer }]]) {
    t.throws(() => readDecision(result, query), { message: /another request/ })
  }
  t.throws(() => read({ request_id: 'another' }), { message: /another request/ })
  t.throws(() => read({ request_id: undefined }), { message: /another request/ })
  t.throws(() => read({ tenant_id: 'another' }), { message: /another tenant/ })
  t.throws(() => read({ effect: 'permit' }), { message: /no known effect/ })
  t.throws(() => read({ reasons: [] }), { message: /no reason/ })
  t.throws(() => read({ reasons: undefined }), { message: /reasons are malformed/ })
  t.throws(() => read({ reasons: [{ code: 'because', layer: 'rbac' }] }), {
    message: /reasons are malformed/,
  })
  t.throws(() => read({ reasons: [{ code: 'own', layer: 'x' }] }), { message: /reasons are malformed/ })
  t.throws(() => read({ matched: [{}] }), { message: /matched are malformed/ })
  t.throws(() => read({ obligations: [{ type: 'notify' }] }), { message: /obligations are malformed/ })
})

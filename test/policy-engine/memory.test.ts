import t from 'tap'
import { bundleName, policiesFolder, readBundle } from '../../src/policy-engine/evaluate/bundle.ts'
import { inputText, instantiatorOf } from '../../src/policy-engine/evaluate/policy-instance.ts'
import { policyInput } from '../../src/policy-engine/evaluate/query.ts'
import { roleQuery } from '../../src/policy-engine/opa/role-table.ts'

t.test('100,000 decisions do not grow the memory of the module', async (t) => {
  const instance = instantiatorOf(readBundle(`${policiesFolder}${bundleName}`))()
  const query = roleQuery('decision:read', ['member'], 'someone else')
  const input = inputText(policyInput(query))
  instance.evaluate('authz/decision', input, query.slice)
  const before = instance.usedBytes()
  for (let time = 0; time < 100_000; time++) instance.evaluate('authz/decision', input, query.slice)
  t.equal(instance.usedBytes(), before)
  t.ok(before <= 1024 * 1024)
})

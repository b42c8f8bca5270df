import t from 'tap'
import { roleQuery } from '../../../src/cli/role-table.ts'
import { bundleName, policiesFolder, readBundle } from '../../../src/platform/access/bundle.ts'
import { entrypoint } from '../../../src/platform/access/engine.ts'
import { compileModule } from '../../../src/platform/access/module.ts'
import { policyInput } from '../../../src/platform/access/query.ts'

t.test('100,000 decisions leave the memory of the module as it was', { timeout: 60_000 }, async (t) => {
  const instance = compileModule(readBundle(`${policiesFolder}${bundleName}`), entrypoint)()
  const input = policyInput(roleQuery('decision:read', ['member'], 'someone else'))
  instance.evaluate(input)
  const before = instance.memoryBytes()
  for (let time = 0; time < 100_000; time++) instance.evaluate(input)
  t.equal(instance.memoryBytes(), before)
  t.ok(before <= 1024 * 1024)
})

import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  actionNames,
  actions,
  isPermission,
  permissionsOf,
} from '../../src/policy-engine/catalogue/actions.ts'
import { bundleName, policiesFolder, readBundle } from '../../src/policy-engine/evaluate/bundle.ts'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { assertGolden, goldenCases } from '../../src/policy-engine/evaluate/golden-cases.ts'
import { compileModule } from '../../src/policy-engine/evaluate/module.ts'
import { roleTable } from '../../src/policy-toolchain/role-table.ts'

const instance = compileModule(readBundle(`${policiesFolder}${bundleName}`))()

t.test('the compiled policies answer every golden case', async (t) => {
  t.ok(goldenCases(policiesFolder).length > 1000)
  assertGolden(policiesFolder, instance)
})

t.test('a golden case that is answered otherwise is named', async (t) => {
  const deny = { evaluate: () => ({ effect: 'deny', reasons: [{ code: 'x' }] }) }
  t.throws(() => assertGolden(policiesFolder, deny), {
    message:
      /golden case "profile:read owner route"\n {2}expected \{"effect":"allow".*\n {2}actual {3}\{"effect":"deny","codes":\["x"\]/,
  })
  t.throws(() => assertGolden(policiesFolder, { evaluate: () => undefined }), { message: /wrong answer/ })
})

t.test('the printed role table is what the engine decides', async (t) => {
  const printed = readFileSync(`${policiesFolder}cases/roles.md`, 'utf8')
  t.equal(printed, roleTable(await openAccessEngine()), 'npm run policies prints it again')
})

t.test('a permission is what a role can carry, and nothing about oneself is', async (t) => {
  t.notOk(isPermission('profile:update'))
  t.notOk(isPermission('approval_request:approve'))
  t.ok(isPermission('tenant:read'))
  t.ok(permissionsOf('owner').every(isPermission))
  t.strictSame(permissionsOf('member').includes('role:create'), false)
  t.ok(permissionsOf('auditor').includes('audit:list'))
})

t.test('what a policy may widen or gate is something a role has', async (t) => {
  for (const name of actionNames) {
    const { gate, widen, needsTenant, roles } = actions[name]
    if (gate || widen) t.ok(isPermission(name), name)
    if (!needsTenant) t.equal(roles.length, 0, `${name} is about oneself`)
  }
})

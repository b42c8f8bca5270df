import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  actionNames,
  actions,
  isPermission,
  permissionsOf,
} from '../../src/policy-engine/catalogue/actions.ts'
import { assertGolden } from '../../src/policy-engine/evaluate/assert-golden.ts'
import { bundleName, policiesFolder, readBundle } from '../../src/policy-engine/evaluate/bundle.ts'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { goldenCases } from '../../src/policy-engine/evaluate/golden-cases.ts'
import { instantiatorOf } from '../../src/policy-engine/evaluate/policy-instance.ts'
import { roleTable } from '../../src/policy-engine/opa/role-table.ts'

const instance = instantiatorOf(readBundle(`${policiesFolder}${bundleName}`))()

t.test('the compiled policies answer every golden case', async (t) => {
  t.ok(goldenCases(policiesFolder).length > 1000)
  await assertGolden(policiesFolder, instance)
})

t.test('the error for a wrong answer names the golden case', async (t) => {
  const deny = { evaluate: () => ({ effect: 'deny', reasons: [{ code: 'x' }] }) }
  await t.rejects(assertGolden(policiesFolder, deny), {
    message:
      /golden case "profile:read owner route"\n {2}expected \{"effect":"allow".*\n {2}actual {3}\{"effect":"deny","codes":\["x"\]/,
  })
  await t.rejects(assertGolden(policiesFolder, { evaluate: () => undefined }), { message: /wrong answer/ })
})

t.test('a role, an allow, a gate and a deny are combined in every way', async (t) => {
  const { combining } = JSON.parse(readFileSync(`${policiesFolder}cases/combining.json`, 'utf8'))
  const parts = ['admin', 'allow', 'gate', 'deny']
  for (let row = 0; row < 2 ** parts.length; row++) {
    const given = ['department:create', ...parts.filter((_, part) => row & (1 << part))].join(' ')
    t.ok(combining[given], given)
  }
})

t.test('the printed role table agrees with the engine', async (t) => {
  const printed = readFileSync(`${policiesFolder}cases/roles.md`, 'utf8')
  t.equal(printed, roleTable(await openAccessEngine()), 'to print it again: npm run policies')
})

t.test('a permission is an action that a role can carry; actions about oneself are not', async (t) => {
  t.notOk(isPermission('profile:update'))
  t.notOk(isPermission('approval_request:approve'))
  t.ok(isPermission('tenant:read'))
  t.ok(permissionsOf('owner').every(isPermission))
  t.strictSame(permissionsOf('member').includes('role:create'), false)
  t.ok(permissionsOf('auditor').includes('audit:list'))
})

t.test(
  'every action that a policy can grant or gate is a permission of a role, or open to all',
  async (t) => {
    for (const name of actionNames) {
      const { gate, widen, open, needsTenant, roles } = actions[name]
      if (gate || widen) t.ok(isPermission(name) || open, name)
      if (!needsTenant) t.equal(roles.length, 0, `${name} is about oneself`)
    }
  },
)

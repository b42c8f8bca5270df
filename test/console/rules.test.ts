import t from 'tap'
import { resolveOpa } from '../../src/policy-engine/opa/opa.ts'
import { noChromium } from '../helpers/chromium.ts'
import { colleague } from '../helpers/colleague.ts'
import { inTime } from '../helpers/in-time.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { createProgram } from '../identity/api-keys/holders.ts'
import { startBeside } from '../identity/otp/authenticator.ts'
import { assertSound, follow, heading, openChromium, signIn, visit } from './real-browser.ts'

// The pages for authors of policies and for auditors, in a real browser.

const skip = noChromium
const opa = await resolveOpa({ install: process.env.CI === 'true', print: () => undefined }).catch(
  (error: Error) => error,
)
const noOpa = opa instanceof Error && opa.message
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)

// One author in one page, because each sign-in loads everything anew.
t.test('an author', { skip }, async (t) => {
  const owner = await service.signUp()
  const { page, faults } = await openPage(t)
  const origin = noOpa ? service.url : await startBeside(t, service, { OPA_PATH: String(opa) })
  await go(page, '/policies', origin)
  await signIn(page, owner)

  await t.test(
    'a policy is written in the editor, denies at the next request, and the denial is explained',
    async (t) => {
      await page.getByText('No policy yet').waitFor()
      await page.getByRole('link', { name: 'New policy' }).first().click()
      const editor = page.getByRole('textbox', { name: 'The policy as JSON' })
      // A plain field takes texts until the editor is loaded; only the editor suggests.
      await page.locator('.code-plain').waitFor({ state: 'detached' })
      await editor.click()
      await page.keyboard.press('Control+a')
      await page.keyboard.insertText('{ "name": "<i>No</i> secrets\u202e", "effect": ')
      await page.keyboard.type('"den')
      await page.keyboard.press('Backspace')
      await page.getByRole('option', { name: 'deny' }).waitFor()
      await page.keyboard.press('Enter')
      await page.keyboard.insertText(
        ', "actions": ["department:create"], "conditions": { "attribute": "resource.nam", "operator": "starts_with", "value": "Secret" } }',
      )
      await page.getByText('No attribute has this name').first().waitFor()
      // It would turn what follows round.
      await page.getByTitle('right-to-left override').waitFor()
      await page.keyboard.press('Control+z')
      await page.getByText('This is not JSON yet.').waitFor()
      await page.keyboard.press('Control+y')
      await page.getByText('No attribute has this name').first().waitFor()
      await page.getByRole('button', { name: '1 fault' }).waitFor()
      await page.getByText('"starts_with"').click()
      await page.keyboard.press('Control+Space')
      await page.getByRole('option', { name: 'starts_with' }).click()
      await page.getByText('"operator": "starts_with", "value"').waitFor()
      await assertSound(t, page, 'a fault in the editor')
      await page.getByRole('button', { name: 'Form' }).click()
      await page.getByLabel('Attribute', { exact: true }).selectOption('resource.name')
      await page.getByText('No faults').waitFor()
      await assertSound(t, page, 'the form')

      await page.route('**/console/api/policies/', (route) =>
        route.fulfill({ status: 429, headers: { 'retry-after': '1' }, body: '{"detail":"Wait a second."}' }),
      )
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('alert').getByText('Wait a second.').waitFor()
      await page.unroute('**/console/api/policies/')
      await page.getByRole('link', { name: 'Roles' }).click()
      await heading(page, 'Roles').waitFor()
      await page.goBack()
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await heading(page, '<i>No</i> secrets').waitFor()

      const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
      const denied = await owner.post(departments, { name: 'Secret service' })
      t.equal(denied.status, 403, 'what was written before the 429 is in force')
      await visit(page, '/decisions?effect=deny')
      await page.getByRole('link', { name: 'Create department', exact: true }).first().click()
      await page.getByText('A policy of the tenant forbids this').waitFor()
      await page.getByText('"Secret service"').waitFor()
      await assertSound(t, page, 'an explanation')

      await page.getByRole('button', { name: 'Ask again in the playground' }).click()
      await page.getByText('The policy applies.').or(page.getByText('The policy does not apply.')).waitFor()
      await page.getByLabel('Fields of the object').fill('{"name": "Secret garden"}')
      await page.getByText('it is "Secret garden"').waitFor()
      await page.getByText('Denied').first().waitFor()
      await assertSound(t, page, 'the playground')
      await page.getByRole('button', { name: 'Keep as a test' }).click()
      await page.getByRole('button', { name: 'Ask them again' }).click()
      await page.getByText('None would change').waitFor()

      // Another person changes it in between: what is typed is not lost, and does not overwrite theirs.
      const { body: list } = await owner.get('/api/v1/policies/')
      const [{ id }] = list.results
      await visit(page, `/policies/${id}?tab=tests`)
      await page.getByRole('button', { name: 'Run all' }).click()
      await page.getByText('The test passed').waitFor()
      await page.getByRole('button', { name: 'Document' }).click()
      await page.getByRole('button', { name: 'Form' }).click()
      await page.getByLabel('Value', { exact: true }).fill('Hidden')
      await owner.patch(`/api/v1/policies/${id}/`, { description: 'Meanwhile' })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Someone else has changed this policy').waitFor()
      await page.getByText('"description": "Meanwhile"').waitFor()
      await page.getByRole('button', { name: 'Save mine over it' }).click()
      await page.getByText('Version 3', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Versions' }).click()
      await page.getByRole('button', { name: 'Restore version 2' }).click()
      await page.getByRole('dialog').getByText('"Hidden"').waitFor()
      await assertSound(t, page, 'a rollback')
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
      await page.getByText('Version 2 is restored').waitFor()

      await visit(page, '/access?ask=subjects&action=role:create')
      await page.getByRole('button', { name: 'Search', exact: true }).click()
      await page.getByRole('listitem').getByText(owner.email).waitFor()
      await assertSound(t, page, 'a search')
      await visit(page, '/access?type=department')
      await page.getByRole('button', { name: 'Search', exact: true }).click()
      await page.getByRole('listitem').filter({ hasText: 'department:list' }).getByText('Allowed').waitFor()
      t.strictSame(
        faults.splice(0).filter((text) => !/4(00|12|22|29)/.test(text)),
        [],
      )
    },
  )

  await t.test(
    'a module in Rego is written with its faults at their lines, decides, and is switched off and on',
    { skip: noOpa },
    async (t) => {
      await visit(page, '/policies/new')
      await page.getByRole('button', { name: 'Compute in Rego' }).click()
      const editor = page.getByRole('textbox', { name: 'The module in Rego' })
      await editor.click()
      await page.getByText('No faults').waitFor()
      await page.keyboard.press('Control+End')
      await page.keyboard.insertText('deny contains nothing if {')
      await page.getByText(/^Line 6, column/).waitFor()
      await assertSound(t, page, 'a fault in a module')
      await page.keyboard.press('Control+a')
      await page.keyboard.insertText(
        'package policy\n\ndeny contains "It is too long." if count(input.resource.name) > 10\n',
      )
      await page.getByRole('button', { name: 'Form' }).click()
      await page.getByText('The module in Rego decides').waitFor()
      await page.getByLabel('Name', { exact: true }).fill('Short names')
      for (const action of ['member:create', 'member:update'])
        await page.getByRole('button', { name: `Remove ${action}` }).click()
      await page.getByLabel('Actions').fill('department:create,')
      await page.getByText('No faults').waitFor()
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await heading(page, 'Short names').waitFor()
      const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
      const create = (name: string) => owner.post(departments, { name })
      t.equal((await create('A name that is too long')).status, 403)
      t.equal(
        (
          await inTime(
            () => create('Short'),
            ({ status }) => status === 403,
          )
        ).status,
        201,
      )
      await page.getByRole('button', { name: 'Module' }).click()
      await editor.click()
      await page.keyboard.press('Control+End')
      await page.keyboard.insertText('# Twelve letters are fine.')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Version 2', { exact: true }).waitFor()
      await follow(page, '/policies')
      await page.getByText('Rego', { exact: true }).waitFor()
      for (const [item, status] of [
        ['Turn off', 201],
        ['Turn on', 403],
      ] as const) {
        await page.getByRole('button', { name: 'Actions for Short names' }).click()
        await page.getByRole('menuitem', { name: item }).click()
        await page.getByText(item === 'Turn off' ? 'The policy is off' : 'The policy is on').waitFor()
        t.equal((await create(`Another long name ${status}`)).status, status)
      }
      t.strictSame(
        faults.splice(0).filter((text) => !/4(00|22)/.test(text)),
        [],
      )
    },
  )

  await t.test(
    'an edit that another person overtook says so, and an approver sees what would change',
    async (t) => {
      const admin = await colleague(service, owner, 'admin')
      const tenant = `/api/v1/tenants/${owner.tenantId}`
      const { body: role } = await owner.post(`${tenant}/roles/`, { name: 'clerk', permissions: ['a:read'] })
      await follow(page, '/roles')
      await page.getByRole('button', { name: 'clerk', exact: true }).click()
      await page.getByLabel('Description').fill('Files things')
      service.advance(1_000)
      await admin.patch(`${tenant}/roles/${role.id}/`, { permissions: ['a:read', 'a:write'] })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('alert').getByText('Someone else changed this').waitFor()
      t.equal(await page.getByLabel('Description').inputValue(), 'Files things', 'what was typed stays')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('The role is changed').waitFor()

      const gate = { name: 'Two agree', effect: 'require_approval', actions: ['department:update'] }
      await owner.post('/api/v1/policies/', gate)
      const { body: department } = await owner.post(`${tenant}/departments/`, { name: 'Sales' })
      const change = { name: 'Sales and service' }
      const { body: asked } = await admin.patch(`${tenant}/departments/${department.id}/`, change)
      await visit(page, `/approvals/${asked.approval_request.id}`)
      await page.getByText('"name": "Sales and service"').waitFor()
      await page.getByText('"name": "Sales"', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'Two agree' }).waitFor()
      await assertSound(t, page, 'a change to approve')
      await page.getByRole('button', { name: 'Approve' }).waitFor()
      const program = await createProgram(service, owner, ['admin'])
      const { body: byProgram } = await service.call('PATCH', `${tenant}/departments/${department.id}/`, {
        token: program.key,
        body: change,
      })
      await visit(page, `/approvals/${byProgram.approval_request.id}`)
      await page.getByText('One approval is needed, from other members.').waitFor()
      t.equal(
        await page.getByRole('button', { name: 'Approve' }).count(),
        0,
        'who made its key does not vote',
      )
      t.strictSame(faults, [])
    },
  )
})

t.test(
  'an auditor reads and tries everything, also at 360 px in the dark: a shared draft, attributes, decisions',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const auditor = await colleague(service, owner, 'auditor')
    service.advance(1_000)
    await auditor.switchTo(owner.tenantId)
    const policy = {
      name: 'Owners read',
      description: 'A description that is much longer than a telephone is wide, and still no page is',
      effect: 'allow',
      actions: ['report:read'],
      mode: 'shadow',
    }
    const { body: stored } = await owner.post('/api/v1/policies/', policy)
    const { page, faults, own } = await openPage(t, { width: 360 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await go(page, `/policies/${stored.id}`)
    await signIn(page, auditor)
    await page.getByText('Your roles do not let you change it').waitFor()
    await assertSound(t, page, 'a policy at 360 px')
    await page.getByRole('button', { name: 'Shadow mode' }).click()
    await page.getByText('Nothing recorded yet').waitFor()
    await visit(page, '/policies?mode=shadow')
    await page.getByRole('link', { name: 'Owners read' }).waitFor()
    await assertSound(t, page, 'policies at 360 px')
    await visit(page, `/playground?policy=${stored.id}`)
    await page.getByLabel('With these roles').fill('member')
    await page.getByText('Allowed').first().waitFor()
    await assertSound(t, page, 'the playground at 360 px')
    await own.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy a link' }).click()
    await page.waitForURL(/#d=/)
    const link = page.url()
    await visit(page, '/attributes')
    await page.getByText('environment.hour').waitFor()
    await assertSound(t, page, 'attributes')
    await page.goto(link)
    t.equal(await page.getByLabel('With these roles').inputValue(), 'member', 'the link carries the question')
    await visit(page, '/decisions')
    await assertSound(t, page, 'decisions')
    t.strictSame(faults, [])
  },
)

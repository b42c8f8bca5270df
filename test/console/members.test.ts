import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { colleague } from '../helpers/colleague.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { codeAt, enrol } from '../identity/otp/authenticator.ts'
import { assertNarrow, assertSound, follow, openChromium, signIn, visit } from './real-browser.ts'

// Members, invitations and approvals in a real browser.

const skip = noChromium
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)

t.test(
  'an administrator invites, changes a role, and carries out a change after another person approves it',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const admin = await colleague(service, owner, 'admin')
    const member = await colleague(service, owner)
    service.advance(1_000)
    await admin.switchTo(owner.tenantId) // entered last, so that the sign-in leads there
    const policy = {
      name: 'Two agree',
      effect: 'require_approval',
      actions: ['member:delete', 'api_key:create'],
    }
    t.equal((await owner.post('/api/v1/policies/', policy)).status, 201)
    const [asked, approving] = [await openPage(t), await openPage(t, { beside: true })]
    const { page } = asked
    await go(page, '/invitations')
    await signIn(page, admin)
    await page.getByRole('button', { name: 'Invite people' }).click()
    const invited = ['one', 'two'].map((name) => `${name}.with.a.long.name.${process.pid}@people.example.com`)
    await page.getByLabel('E-mail addresses').fill(`${invited.join(', ')}, nobody`)
    await page.getByRole('button', { name: 'Invite 2 people' }).click()
    await page.getByText('These are no e-mail addresses: nobody').waitFor()
    await page.getByLabel('E-mail addresses').fill(invited.join('\n'))
    await page.getByRole('button', { name: 'Invite 2 people' }).click()
    for (const email of invited) await page.getByRole('cell', { name: email, exact: true }).waitFor()
    const size = page.viewportSize()!
    await page.setViewportSize({ width: 360, height: 740 })
    const hidden = await page.evaluate(
      "((box) => box.scrollWidth - box.clientWidth)(document.querySelector('.table-box'))",
    )
    t.equal(hidden, 0, 'long addresses break where the window is narrow')
    await page.setViewportSize(size)

    await page.getByRole('button', { name: 'From a table' }).click()
    const table = page.locator('.dialog')
    const lines = [
      'address;roles;department;id',
      `three.${process.pid}@example.com;member|auditor;;ext-3`,
      `four.${process.pid}@example.com;pirate;`,
      `"five.${process.pid}@example.com";"";Atlantis`,
      `THREE.${process.pid}@example.com`,
    ]
    await table.getByLabel('Table').fill(lines.join('\n').replace('roles', 'rolls'))
    await table.getByText('There is no column rolls. Did you mean roles?').waitFor()
    await assertSound(t, page, 'a table with an unknown column')
    await table.getByRole('button', { name: 'Invite', exact: true }).click()
    await table.getByLabel('Table').fill(lines.join('\n'))
    for (const fault of ['There is no role pirate', 'There is no department Atlantis', 'twice'])
      await table.getByText(fault).waitFor()
    await assertSound(t, page, 'a table of invitations')
    await table.getByRole('button', { name: 'Invite 1 person' }).click()
    await table.getByText('3 lines could not be invited').waitFor()
    t.equal(
      await table.getByLabel('Table').inputValue(),
      [lines[0], ...lines.slice(2)].join('\n'),
      'titles and faulty lines stay',
    )
    await page.keyboard.press('Escape')
    await page.getByRole('cell', { name: `three.${process.pid}@example.com`, exact: true }).waitFor()

    await follow(page, '/members')
    await page.getByLabel('Search by name or address').fill(member.email)
    const row = page.getByRole('row', { name: member.email })
    await page.waitForURL(/search=/) // the filter is in the address
    await page.getByText('1 in all').waitFor()
    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Change roles' }).click()
    await assertSound(t, page, 'a dialog')
    await page.getByLabel('auditor').check()
    await page.getByLabel('ID in your applications').fill('emp-0042')
    await page.getByRole('button', { name: 'Save' }).click()
    await row.getByText('auditor').waitFor()
    const named = (path: string) => owner.get(`/api/v1/tenants/${owner.tenantId}/${path}`)
    t.match((await named('members/?external_id=emp-0042')).body, { results: [{ user_id: member.id }] })
    t.match((await named('invitations/?search=three')).body, { results: [{ external_id: 'ext-3' }] })
    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'See permissions' }).click()
    await page.getByText('by auditor').first().waitFor()
    await page.getByText('Not: update, suspend, activate, archive, delete').waitFor()
    await assertSound(t, page, 'permissions of a member')
    await page.keyboard.press('Escape')
    const log = await owner.get(`/api/v1/decisions/?kind=all&subject_id=${member.id}`)
    t.equal(
      log.body.results.filter(({ effect }: { effect: string }) => effect === 'deny').length,
      0,
      'the member was refused nothing',
    )

    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('This waits for an approval').waitFor()
    const other = approving.page
    await go(other, '/approvals')
    await signIn(other, owner)
    await other.getByRole('link', { name: 'Delete member', exact: true }).click()
    await other.getByRole('button', { name: 'Approve' }).click()
    await other.getByLabel('Comment').fill('Agreed.')
    await other.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await other.getByText('Agreed.').waitFor()
    await assertSound(t, other, 'a request')
    await visit(page, '/approvals?tab=all')
    await page.getByRole('link', { name: 'Delete member', exact: true }).click()
    await page.getByRole('button', { name: 'Carry it out' }).click()
    await page.getByText('Carried out').waitFor()
    await visit(page, '/account/keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.locator('.dialog').getByLabel('Name').fill('Script')
    await Promise.all([
      page.waitForResponse((answer) => answer.url().endsWith('/keys/') && answer.status() === 403),
      page.getByRole('button', { name: 'Make the key' }).click(),
    ])
    await visit(other, '/approvals')
    await other.getByRole('link', { name: 'Create API key', exact: true }).click()
    await other.getByRole('button', { name: 'Approve' }).click()
    await other.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await visit(page, '/approvals?tab=all')
    await page.getByRole('link', { name: 'Create API key', exact: true }).click()
    await page.getByRole('button', { name: 'Carry it out' }).click()
    const kept = page.getByRole('dialog', { name: 'Copy this now' })
    await kept.getByText(/bwk_[0-9A-Za-z]{71}/).waitFor()
    await kept.getByRole('button', { name: 'I have saved it' }).click()
    await visit(page, '/audit?action=member:delete')
    await page.getByRole('button', { name: 'Member deleted' }).click()
    await page.getByRole('dialog').getByText('Changes').waitFor()
    t.strictSame(
      [...asked.faults, ...approving.faults].filter((text) => !/40[13]/.test(text)),
      [],
    )
  },
)

t.test(
  'an owner sets the manager of a member, then acts as the member, under a banner on each page, until they end it',
  { skip },
  async (t) => {
    const owner = await service.signUp({ first_name: 'Olga' })
    const { secret } = await enrol(service, owner)
    const member = await colleague(service, owner)
    service.advance(60_000)
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    const row = page.getByRole('row', { name: member.email })
    await go(page, '/members')
    await signIn(page, owner)
    await page.getByLabel('Code').fill(codeAt(secret, service.now()))
    await page.getByRole('button', { name: 'Continue' }).click()
    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Change roles' }).click()
    const manager = dialog.getByRole('combobox', { name: 'Manager' })
    await manager.fill('stranger@example.com')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('No member has this address').waitFor()
    await manager.fill(owner.email.toUpperCase())
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The member is changed').waitFor()
    await page
      .getByRole('row', { name: owner.email })
      .getByRole('button', { name: /Actions/ })
      .click()
    await page.getByRole('menuitem', { name: 'See who reports' }).click()
    await page.getByText('1 in all').waitFor()
    await page.getByText('Reports to Olga').waitFor()

    await row.getByRole('button', { name: /Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Act as' }).click()
    await dialog.getByLabel('Reason').fill('short')
    await dialog.getByRole('button', { name: 'Begin' }).click()
    await dialog.locator('.field-fault').waitFor()
    await dialog.getByLabel('Reason').fill('Ticket 4711: the list is empty')
    await dialog.getByRole('button', { name: 'Begin' }).click()
    const banner = page.getByText('You act as')
    await banner.waitFor()
    for (const path of ['audit', 'account/security'])
      t.equal(await page.locator(`.side a[href="/console/${path}"]`).count(), 0, `${path} is gone`)
    await follow(page, '/account')
    await banner.waitFor()
    await assertSound(t, page, 'acting as a member')
    await assertNarrow(t, page, 'acting as a member')
    await page.reload()
    await banner.waitFor()
    await page.getByRole('button', { name: 'Be yourself again' }).click()
    await page.locator('.side a[href="/console/audit"]').waitFor()
    t.equal(await banner.count(), 0)
    t.strictSame(
      faults.filter((text) => !/40[013]/.test(text)),
      [],
    )
  },
)

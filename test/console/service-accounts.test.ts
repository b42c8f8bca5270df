import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { noChromium } from '../helpers/chromium.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { changeRows } from '../identity/otp/authenticator.ts'
import { assertNarrow, assertSound, follow, heading, openChromium, signIn } from './real-browser.ts'

// Service accounts and keys in a real browser.

const skip = noChromium
const service = await sharedService(t)
const { openPage, go } = await openChromium(t, service)

t.test(
  'a service account and a person get keys, which are shown once and work until they are replaced or revoked',
  { skip },
  async (t) => {
    const owner = await service.signUp()
    const { page, faults } = await openPage(t)
    const dialog = page.locator('.dialog')
    await go(page, '/service-accounts')
    await signIn(page, owner)
    const kept = page.getByRole('dialog', { name: 'Copy this key now' })
    const statusOf = async (token: string) =>
      (await service.call('GET', '/api/v1/users/me/', { token })).status
    /** The key that the dialog shows, which then closes. */
    const take = async () => {
      await kept.waitFor()
      const [key] = /bwk_[0-9A-Za-z]{71}/.exec(await kept.innerText())!
      await kept.getByRole('button', { name: 'I have saved it' }).click()
      await kept.waitFor({ state: 'detached' })
      t.notOk((await page.content()).includes(key), 'the key is shown once')
      t.equal(await statusOf(key), 200, 'the key works')
      return key
    }
    const choose = async (name: string, item: string) => {
      await page
        .getByRole('button', { name: `Actions for ${name}` })
        .first()
        .click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
    await follow(page, '/service-accounts')
    await page.getByText('No service account yet').waitFor()
    await page.getByRole('button', { name: 'New service account' }).first().click()
    await dialog.getByLabel('Name').fill('nightly <i>report</i>')
    await dialog.getByLabel('auditor').check()
    await assertSound(t, page, 'a new service account')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await heading(page, 'nightly <i>report</i>').waitFor()

    // A form that could not load the roles and departments takes none away, and overwrites no change of others.
    const [department, accountId] = [crypto.randomUUID(), new URL(page.url()).pathname.split('/').at(-1)]
    const path = `/api/v1/service-accounts/${accountId}/`
    await changeRows(
      service,
      `insert into departments (tenant_id, id, name, created_at, updated_at)
         values ('${owner.tenantId}', '${department}', 'Night', now(), now())`,
    )
    await owner.patch(path, { department_id: department })
    await page.route(/tenants\/[^/]+\/(roles|departments)\//, (route) =>
      route.fulfill({ status: 403, body: '{"detail":"No."}' }),
    )
    await page.reload()
    const edit = async (description: string) => {
      await page.getByRole('button', { name: 'Actions', exact: true }).click()
      await page.getByRole('menuitem', { name: 'Change' }).click()
      await dialog.getByLabel('Description').fill(description)
    }
    await edit('Each night')
    await owner.patch(path, { name: 'Renamed' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Someone else changed this').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The account is changed').waitFor()
    const { body: renamed } = await owner.get(path)
    t.strictSame(renamed.roles.sort(), ['auditor', 'member'])
    t.match(renamed, {
      name: 'Renamed',
      description: 'Each night',
      department_id: department,
    })
    await page.unroute(/tenants\/[^/]+\/(roles|departments)\//)
    await page.reload()
    await edit('')
    t.equal(await dialog.getByLabel('Department').inputValue(), department)
    await dialog.getByLabel('Department').selectOption('None')
    await dialog.getByLabel('auditor').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match((await owner.get(path)).body, { description: '', roles: ['member'], department_id: null })

    service.advance(11 * 60_000)
    await page.getByRole('button', { name: 'New key' }).click()
    await dialog.getByLabel('Name').fill('Server 1')
    await dialog.getByLabel('Only these').check()
    await dialog.getByRole('button', { name: 'Make the key' }).click()
    await dialog.getByText('Name at least one permission').waitFor()
    await dialog.getByLabel('Permissions', { exact: true }).fill('member:list,')
    await assertSound(t, page, 'a new key')
    await dialog.getByRole('button', { name: 'Make the key' }).click()
    await page.getByRole('dialog', { name: 'Confirm that it is you' }).waitFor()
    await page.getByLabel('Your password').fill(owner.password)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await kept.waitFor()
    await page.keyboard.press('Escape')
    await assertSound(t, page, 'a key, which only its button closes')
    const first = await take()
    const { body: account } = await service.call('GET', '/api/v1/users/me/', { token: first })
    t.strictSame(account.permissions, ['member:list'])
    await choose('Server 1', 'Replace')
    await dialog.getByLabel('The old key works for').selectOption('no longer: it ends at once')
    await dialog.getByRole('button', { name: 'Make the new key' }).click()
    await page.getByLabel('Your password').fill(owner.password)
    await page.getByRole('button', { name: 'Confirm' }).click()
    const second = await take()
    t.equal(await statusOf(first), 401)
    await assertSound(t, page, 'a service account')
    await assertNarrow(t, page, 'a service account', { look: true })
    await page.getByRole('button', { name: 'Trust a workload' }).click()
    await dialog.getByLabel('Platform').selectOption('Kubernetes')
    await dialog.getByLabel('Issuer').fill('https://cluster.example')
    await dialog.getByLabel('Subject (sub)').fill('*')
    await dialog.getByLabel('Permissions', { exact: true }).fill('member:list,')
    await assertSound(t, page, 'a new trust')
    await dialog.getByRole('button', { name: 'Trust a workload' }).click()
    await dialog.getByText('Write the first two segments of sub out').waitFor()
    await dialog.getByLabel('Subject (sub)').fill('system:serviceaccount:shop:deploy')
    await dialog.getByLabel('Public keys (jwks)').fill(JSON.stringify({ keys: [jwk] }))
    await dialog.getByRole('button', { name: 'Trust a workload' }).click()
    await page.getByLabel('Your password').fill(owner.password)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('The workload can get tokens now').waitFor()
    await page.getByText('https://cluster.example').waitFor()
    await assertNarrow(t, page, 'a service account with a trust', { look: true })
    await page.getByRole('button', { name: /^Stop the trust in system/ }).click()
    await dialog.getByRole('button', { name: 'Stop the trust' }).click()
    await page.getByText('The workload is trusted no longer').waitFor()
    await choose('Server 1', 'Revoke')
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('The key is revoked').waitFor()
    t.equal(await statusOf(second), 401)
    await page.getByRole('button', { name: 'Actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Disable' }).click()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('This account is disabled').waitFor()
    await page.getByRole('button', { name: 'Actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No service account yet').waitFor()

    await follow(page, '/account/keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await dialog.getByLabel('Name').fill('My script')
    await dialog.getByRole('button', { name: 'Make the key' }).click()
    await page.getByLabel('Your password').fill(owner.password)
    await page.getByRole('button', { name: 'Confirm' }).click()
    const own = await take()
    await choose('My script', 'Revoke')
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No key yet').waitFor()
    t.equal(await statusOf(own), 401)
    t.strictSame(
      faults.splice(0).filter((text) => !/40[0134]/.test(text)),
      [],
    )
  },
)

import { readFileSync } from 'node:fs'
import t from 'tap'
import { mailedLinks } from '../../../src/messages/links/mailed-links.ts'
import { settings } from '../../../src/settings/settings.ts'
import { approvals, openOffice } from '../../authorization/approvals/office.ts'
import { startService } from '../../helpers/service.ts'

const service = await startService(t, {
  env: {
    EMAIL_LINK_BASE: 'https://app.example.com/account/',
    EMAIL_LINK_RESET: 'https://reset.example.com/#{token}',
    EMAIL_LINK_APPROVAL: 'https://app.example.com/approvals/{id}?tenant={tenant_id}',
  },
})

t.test('links in mails lead to the pages of the application, or where their own setting says', async (t) => {
  const ada = await service.signUp()
  const { text } = await service.mailTo(ada.email, 'Confirm')
  t.match(text, /https:\/\/app\.example\.com\/account\/verify-email\?token=[\w-]{20}/)
  t.match(text, /https:\/\/app\.example\.com\/account\/reject-email\?token=[\w-]{20}/)
  t.notMatch(text, service.url)
  await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: ada.email } })
  t.match((await service.mailTo(ada.email, 'Reset')).text, /https:\/\/reset\.example\.com\/#[\w-]{20}/)
})

t.test('mails about approvals lead to the page that their setting names', async (t) => {
  const { owner, asker, approver, departments } = await openOffice(service)
  const { id } = (await asker.post(departments, { name: 'Legal' })).body.approval_request
  const page = `https://app.example.com/approvals/${id}?tenant=${owner.tenantId}`
  t.ok((await service.mailTo(approver.email, 'Approval requested')).text.includes(page))
  t.equal((await approver.post(`${approvals}${id}/approve/`, {})).status, 200)
  t.ok((await service.mailTo(asker.email, 'was approved')).text.includes(page))
})

t.test('settings and documentation name the path of each page', async (t) => {
  const page = new URL('../../../docs/how-to/use-from-your-application.md', import.meta.url)
  const documented = [...readFileSync(page, 'utf8').matchAll(/^\| `(\/[\w-]+)` \| `POST /gm)]
  const links = Object.values(mailedLinks)
  t.same(documented.map(([, path]) => path).toSorted(), links.map(({ page }) => page).toSorted())
  for (const { page, setting } of links) t.equal(settings[setting].shown, `\`${page}\``, setting)
})

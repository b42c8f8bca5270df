import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { openBrowser } from './browser-client.ts'

const service = await sharedService(t, { workers: false })

t.test('a changed password sets a new cookie and ends the old one', async (t) => {
  const person = await service.signUp()
  const browser = openBrowser(service)
  await browser.signIn(person)
  const { cookie: copy } = browser
  const change = (current_password: string) =>
    browser.call('POST', '/console/api/auth/password/change/', {
      current_password,
      new_password: 'another quiet harbour',
    })
  const wrong = await change('not this one')
  t.same([wrong.status, browser.cookie], [400, copy], 'a wrong password changes nothing')
  t.equal((await change(person.password)).status, 200)
  t.not(browser.cookie, copy)
  const me = '/console/api/users/me/'
  t.equal((await browser.call('GET', me)).status, 200)
  t.match(await browser.call('GET', me, undefined, { cookie: copy }), {
    status: 401,
    body: { code: 'not_authenticated' },
  })
})

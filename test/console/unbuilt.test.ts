import { symlinkSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { buildConsole } from '../../tools/console/bundle.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { productionSettings } from '../helpers/production.ts'
import { command, present, startRelease } from '../upgrade/release.ts'

t.test('a checkout without the pages answers 503 on /console/, and doctor names the command', async (t) => {
  const folder = t.testdir()
  for (const part of ['package.json', 'src', 'workers', 'policies'])
    await cp(join(present, part), join(folder, part), { recursive: true })
  // With the compiled code of this checkout, which it finds in its own place.
  for (const part of ['node_modules', '.cache']) symlinkSync(join(present, part), join(folder, part))
  const { urls, drop } = await disposableDatabase()
  const env = { ...(await productionSettings(urls, 'smtp://127.0.0.1:9')), NODE_COMPILE_CACHE: '' }
  const api = await startRelease(t, folder, 'api', env)
  t.teardown(async () => {
    await api.stop()
    await drop()
  })

  for (const path of ['/console/', '/console/members', '/console/assets/main.js']) {
    const answer = await fetch(env.PUBLIC_URL + path)
    t.equal(answer.status, 503)
    t.match(answer.headers.get('content-type'), 'text/plain')
    t.equal(answer.headers.get('cache-control'), 'no-store')
    t.match(await answer.text(), /^The console is not built\. .* npm run build\n$/)
  }
  t.equal((await fetch(`${env.PUBLIC_URL}/console/session/`)).status, 200, 'its session works')

  const said = await command(folder, env, 'doctor')
  t.match(said.output, /✗ The pages of the console are not built.*npm run build/s)

  await cp(join(present, 'packages/console/bundle'), join(folder, 'packages/console/bundle'), {
    recursive: true,
  })
  const page = await fetch(`${env.PUBLIC_URL}/console/`)
  t.equal(page.status, 200, 'once they are built, they are served')
  t.match(await page.text(), '<div id="console">')
})

t.test('what is up to date is not built again', async (t) => {
  t.equal(await buildConsole(), false)
})

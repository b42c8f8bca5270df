import { buildSync } from 'esbuild'
import express from 'express'
import type { Page } from 'playwright-core'
import t from 'tap'
import { expressSignIn } from '../../packages/client/express.ts'
import { createSignIn } from '../../packages/client/sign-in/sign-in.ts'
import { signIn as signInOnPages } from '../console/real-browser.ts'
import { noChromium, sharedChromium } from '../helpers/chromium.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { openApplication } from '../oauth/relying-party.ts'

// The browser part of the client, in a real browser.

const [built] = buildSync({
  entryPoints: ['packages/client/sign-in/browser.ts'],
  bundle: true,
  minify: true,
  format: 'esm',
  write: false,
}).outputFiles

t.test('it is small', async (t) => {
  t.ok(built!.contents.length <= 5_000, `${built!.contents.length} bytes`)
})

t.test(
  'tabs know who is signed in, ask once for all, and sign out together',
  { skip: noChromium },
  async (t) => {
    const service = await sharedService(t, { workers: false })
    const person = await service.signUp()
    const { client, secret } = await openApplication(service, person, {
      redirect_uris: ['http://127.0.0.1/auth/callback'],
      post_logout_redirect_uris: ['http://127.0.0.1/bye'],
    })
    const app = express()
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    t.teardown(() => server.close())
    const baseUrl = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    const signIn = createSignIn({
      issuer: service.deps.publicUrl(),
      clientId: client.id,
      clientSecret: secret,
      baseUrl,
      cookieSecret: 'x'.repeat(32),
      afterSignOut: '/bye',
    })
    let asked = 0
    let hold: (() => Promise<unknown>) | undefined
    app.use(async (request, _response, next) => {
      if (request.path === '/auth/session' && request.method === 'GET') {
        asked++
        await hold?.()
      }
      next()
    })
    app.use(expressSignIn(signIn))
    app.get('/browser.js', (_request, response) => void response.type('js').send(built!.text))
    app.get('/bye', (_request, response) => void response.send('Bye'))
    const script = `import { watchSession } from '/browser.js'
      window.watch = watchSession()
      window.seen = []
      watch.subscribe((session) => seen.push(session?.claims.email ?? null))`
    app.get('/', (_request, response) => void response.send(`<script type="module">${script}</script>`))

    const context = await (await sharedChromium(t)).newContext()
    t.teardown(() => context.close())
    // Messages between tabs take longer than a lock does.
    await context.addInitScript(`window.BroadcastChannel = class extends BroadcastChannel {
      addEventListener(type, listener, options) {
        super.addEventListener(type, (event) => setTimeout(listener, 100, event), options)
      }
    }`)
    const last = (page: Page, email: string | null) =>
      page.waitForFunction(`window.seen?.at(-1) === ${JSON.stringify(email)}`)
    const one = await context.newPage()
    const two = await context.newPage()
    for (const page of [one, two]) {
      await page.goto(baseUrl)
      await last(page, null)
    }
    await one.evaluate('watch.signIn()')
    await signInOnPages(one, person)
    await one.locator('button[name="decision"][value="allow"]').click()
    await last(one, person.email)
    await last(two, person.email)
    t.equal(one.url(), `${baseUrl}/`)
    t.strictSame(await two.evaluate('seen'), [null, person.email], 'without a reload')

    for (const page of [one, two])
      await page.evaluate('{ const { now } = Date; Date.now = () => now() + 86_400_000 }')
    asked = 0
    hold = () => one.waitForFunction('navigator.locks.query().then(({ pending }) => pending.length > 0)')
    const five = 'Promise.all([1, 2, 3, 4, 5].map(() => watch.get()))'
    const all = (await Promise.all([one.evaluate(five), two.evaluate(five)])).flat() as { userId: string }[]
    t.ok(all.every(({ userId }) => userId === person.id))
    t.equal(asked, 1, 'two tabs ask once')
    hold = undefined

    await one.evaluate('watch.signOut()')
    await last(two, null)
    await one.waitForURL(`${baseUrl}/bye`)
    t.equal(await two.evaluate('watch.get()'), null)
    await two.reload()
    await last(two, null)
  },
)

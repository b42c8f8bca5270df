import t from 'tap'
import { noChromium, openTab } from '../helpers/chromium.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })

t.test(
  'the docs page keeps no token, and sets no HTML but formatted text',
  { skip: noChromium },
  async (t) => {
    const { evaluate, page } = await openTab(t, `${service.url}/openapi.json`)
    await evaluate(`localStorage.setItem('authorized', 'a token that an earlier release kept')`)
    await page.goto(`${service.url}/docs`)
    const shown = (selector: string) => `new Promise((done) => {
    const look = () => document.querySelector(${JSON.stringify(selector)}) ? done(true) : setTimeout(look, 20)
    look()
  })`
    await evaluate(shown('.renderedMarkdown code'))
    await evaluate(`document.querySelector('button.authorize').click()`)
    await evaluate(shown('.auth-container input'))
    await evaluate(`(() => {
    const input = document.querySelector('.auth-container input')
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, 'a token')
    input.dispatchEvent(new Event('input', { bubbles: true }))
    document.querySelector('.auth-btn-wrapper .authorize').click()
  })()`)
    await evaluate(shown('.auth-container .btn-done'))
    t.same(await evaluate('Object.keys(localStorage)'), [])
    const set = (html: string) =>
      evaluate(`(() => {
      const element = document.createElement('div')
      element.innerHTML = ${JSON.stringify(html)}
      return element.innerHTML
    })()`)
    for (const html of [
      '<img src="x" onerror="alert(1)">',
      '<a href="javascript:alert(1)">a</a>',
      '<p onclick="alert(1)">a</p>',
      '<form><input></form>',
      '<base href="https://elsewhere.example">',
      '<svg></svg>',
    ])
      t.equal(await set(html), '', html)
    t.equal(await set('<p>a <a href="/docs">b</a></p>'), '<p>a <a href="/docs">b</a></p>')
  },
)

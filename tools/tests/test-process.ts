import { flushCompileCache, registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

// One process runs many test files, because loading the service takes longer than most files take. It reads the names of
// files from stdin, one per line, and runs each file as one test. In a file, `import t from 'tap'` gives that test, so
// that its teardowns run at the end of the file. `ends` are the teardowns of what files share.

const uncaughtErrors = new URL('uncaught-errors.ts', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context
    if (specifier === 'async-hook-domain') return { url: uncaughtErrors, shortCircuit: true }
    if (specifier !== 'tap' || !parentURL.endsWith('.test.ts')) return next(specifier, context)
    // The comment makes the URL, and so the module, different for each file.
    const code = `export default globalThis[Symbol.for('bailiwick.tests')].file // ${parentURL}`
    return { url: `data:text/javascript,${encodeURIComponent(code)}`, shortCircuit: true }
  },
})

const { default: t } = await import('tap')
const tests = { file: t as unknown, ends: [] as (() => Promise<void>)[] }
Object.assign(globalThis, { [Symbol.for('bailiwick.tests')]: tests })

for await (const file of createInterface({ input: process.stdin }))
  await t.test(file, async (t) => {
    tests.file = t
    await import(pathToFileURL(resolve(file)).href)
    flushCompileCache() // for the processes that tests start, and the next run
  })
for (const end of tests.ends) await end()
t.end()
process.exit() // a file can leave handles open

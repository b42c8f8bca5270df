import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'

const entry = join(import.meta.dirname, '..', '..', '..', 'src', 'start', 'entry.cjs')

/** Runs npm test on files, independent of this run; `onLine` can end it early. */
async function npmTest(
  files: string | string[],
  more: object,
  onLine?: (line: string, kill: () => void) => void,
) {
  const ours = Object.entries(process.env).filter(
    ([name]) => !/^(TAP|_TAPJS|CI$|TEST_DATABASE_URL)/.test(name),
  )
  const child = spawn(process.execPath, [entry, 'test', '--jobs=1', ...[files].flat()], {
    env: { ...Object.fromEntries(ours), ...more },
  })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      out += data
      onLine?.(String(data), () => child.kill('SIGINT'))
    })
  }
  const code = await new Promise((done) => child.once('close', done))
  return { code, out }
}

const fixtures = {
  'passes.test.ts': `import { writeFileSync } from 'node:fs'
    import t from 'tap'
    writeFileSync(new URL('url', import.meta.url), process.env.TEST_DATABASE_URL ?? '')
    t.ok(true)`,
  'skips.test.ts': "import t from 'tap'\nt.test('with Redis', { skip: 'no Redis' }, () => undefined)",
  'dies.test.ts': `// own process: it ends it
    process.kill(process.pid, 'SIGKILL')`,
  'fails.test.ts': "import t from 'tap'\nt.equal(1 + 1, 3, 'sums up')",
  'throws.test.ts': `import { setTimeout as sleep } from 'node:timers/promises'
    import t from 'tap'
    t.test('a timer', async () => {
      setTimeout(() => { throw new Error('thrown late') }, 1)
      await sleep(200)
    })
    t.test('a promise', async () => {
      Promise.reject(new Error('rejected alone'))
      await sleep(200)
    })`,
  'waits.test.ts': `import t from 'tap'
    console.error('waiting on', process.env.TEST_DATABASE_URL)
    t.test('waits', () => new Promise((done) => setTimeout(done, 60_000)))`,
}

t.test(
  'tests run on their own cluster, which is removed afterwards; the last line has the totals',
  async (t) => {
    const folder = t.testdir(fixtures)
    const { code, out } = await npmTest(join(folder, 'passes.test.ts'), {})
    t.equal(code, 0, out)
    t.match(out, /\n1 passed, 0 failed, 0 skipped\n$/)
    const url = await readFile(join(folder, 'url'), 'utf8')
    t.match(url, /^postgres:/)
    await t.rejects(fetch(`http://127.0.0.1:${new URL(url).port}`), { cause: { code: 'ECONNREFUSED' } })
  },
)

t.test('a skip is listed with its reason, and fails the run in CI', async (t) => {
  const file = join(t.testdir(fixtures), 'skips.test.ts')
  const given = { TEST_DATABASE_URL: 'postgres://given' }
  const here = await npmTest(file, given)
  t.match(here, { code: 0, out: /with Redis: no Redis\n0 passed, 0 failed, 1 skipped\n$/ })
  const inCi = await npmTest(file, { ...given, CI: 'true' })
  t.match(inCi, { code: 1, out: /\n0 passed, 0 failed, 1 skipped\nCI is set/ })
})

t.test(
  'files share a process, each with its own test; a failure, an uncaught error, and a file whose process ends fail the run',
  async (t) => {
    const folder = t.testdir(fixtures)
    const names = ['passes', 'dies', 'skips', 'fails', 'throws']
    const files = names.map((name) => join(folder, `${name}.test.ts`))
    const { code, out } = await npmTest(files, { TEST_DATABASE_URL: 'postgres://given' })
    t.equal(code, 1)
    t.match(out, /✗ .*dies\.test\.ts {2}0 passed, 1 failed {2}0\.0 s, its process ended with SIGKILL\n/)
    t.match(out, /✗ .*fails\.test\.ts > sums up\n/)
    t.match(out, /✗ .*throws\.test\.ts > a timer > thrown late\n/)
    t.match(out, /✗ .*throws\.test\.ts > a promise > rejected alone\n/)
    t.match(out, /✓ .*passes\.test\.ts {2}1 passed/)
    t.match(out, /\n1 passed, 4 failed, 1 skipped\n$/)
  },
)

t.test('Ctrl-C ends the tests and the cluster at once', async (t) => {
  let url = ''
  const file = join(t.testdir(fixtures), 'waits.test.ts')
  const since = Date.now()
  const { code, out } = await npmTest(file, {}, (line, kill) => {
    url ||= /waiting on (\S+)/.exec(line)?.[1] ?? ''
    if (url) kill()
  })
  t.equal(code, 130, out)
  t.ok(Date.now() - since < 60_000)
  await t.rejects(fetch(`http://127.0.0.1:${new URL(url).port}`), { cause: { code: 'ECONNREFUSED' } })
})

t.test('a file that does not exist is named, and nothing runs', async (t) => {
  const { code, out } = await npmTest(['test/tools/tests/test-report.test.ts', 'test/gone.test.ts'], {})
  t.not(code, 0)
  t.match(out, /^There is no test\/gone\.test\.ts\. Run: npm test/m)
  t.notMatch(out, /passed/)
})

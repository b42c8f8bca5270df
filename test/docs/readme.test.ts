import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { settingsTable } from '../../src/cli/commands/settings.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const readme = read('README.md')
const manifest = JSON.parse(read('package.json'))

/** The first cells of the tables of a page, without their backticks. */
const firstCells = (page: string): string[] =>
  [...read(page).matchAll(/^\| `([^`]+)` \| /gm)].map(([, cell]) => cell ?? '')

t.test('the table of settings is the one the schema prints', async (t) => {
  t.ok(
    read('docs/reference/settings.md').endsWith(`\n${settingsTable()}\n`),
    'else put what `npm run cli -- settings` prints in its place',
  )
})

t.test('every dependency has its reason, and nothing else is listed', async (t) => {
  const names = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.devDependencies)]
  t.strictSame(firstCells('docs/reference/dependencies.md'), names, 'in the order of package.json')
})

t.test('every command is listed, and nothing else is', async (t) => {
  const scripts = Object.keys(manifest.scripts).map((name) =>
    ['start', 'test'].includes(name) ? `npm ${name}` : `npm run ${name}`,
  )
  const entry = join(root, 'src', 'entry.cjs')
  const { stdout } = await promisify(execFile)(process.execPath, [entry, 'cli', '--help']).catch((e) => e)
  const commands = [...stdout.matchAll(/^ {2}(\S+) {2,}/gm)].map(([, name]) => `npm run cli -- ${name}`)
  t.ok(commands.length > 5)
  t.strictSame(firstCells('docs/reference/commands.md').sort(), [...scripts, ...commands].sort())
})

t.test('the README is read in five minutes', async (t) => {
  t.ok(readme.split('\n').length <= 150)
})

t.test('the index of the documents lists every page', async (t) => {
  const index = read('docs/README.md')
  const pages = readdirSync(join(root, 'docs'), { recursive: true }).map(String)
  const listed = (page: string) => index.includes(`](${page.replaceAll('\\', '/')})`)
  const unlisted = pages.filter(
    (page) => /\.md$/.test(page) && !/^(README|adr.\d+-)/.test(page) && !listed(page),
  )
  t.strictSame(unlisted, [])
})

t.test('no document links to a file that is not there', async (t) => {
  const documents = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'CODE_OF_CONDUCT.md']
  const more = readdirSync(join(root, 'docs'), { recursive: true }).map((name) => join('docs', String(name)))
  for (const document of [...documents, ...more.filter((name) => name.endsWith('.md'))]) {
    for (const [, target = ''] of read(document).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (/^\w+:/.test(target)) continue
      t.ok(existsSync(join(root, dirname(document), target)), `${document} → ${target}`)
    }
  }
})

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { settingsTable } from '../../src/cli/commands/settings.ts'
import { commands } from '../../src/cli/commands.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const readme = read('README.md')
const manifest = JSON.parse(read('package.json'))

/** The first cells of the tables of a page, without their backticks. */
const firstCells = (page: string): string[] =>
  [...read(page).matchAll(/^\| `([^`]+)` \| /gm)].map(([, cell]) => cell ?? '')

t.test('the table of settings is the output of the command settings', async (t) => {
  t.ok(
    read('docs/reference/settings.md').endsWith(`\n${settingsTable()}\n`),
    'else put what `npm run cli -- settings` prints in its place',
  )
})

t.test('the page lists every dependency with a reason, and nothing else', async (t) => {
  const ofConsole = JSON.parse(read('packages/console/package.json')).devDependencies
  const names = [manifest.dependencies, manifest.devDependencies, ofConsole].flatMap(Object.keys)
  t.strictSame(firstCells('docs/reference/dependencies.md'), names, 'in the order of the manifests')
})

t.test('the page lists every command, and nothing else', async (t) => {
  const scripts = Object.keys(manifest.scripts).map((name) =>
    ['start', 'test'].includes(name) ? `npm ${name}` : `npm run ${name}`,
  )
  const entry = join(root, 'src', 'start', 'entry.cjs')
  const { stdout } = await promisify(execFile)(process.execPath, [entry, 'cli', '--help']).catch((e) => e)
  const commands = [...stdout.matchAll(/^ {2}(\S+) {2,}/gm)].map(([, name]) => `npm run cli -- ${name}`)
  t.ok(commands.length > 5)
  t.strictSame(firstCells('docs/reference/commands.md').sort(), [...scripts, ...commands].sort())
})

t.test('the README has at most 150 lines', async (t) => {
  t.ok(readme.split('\n').length <= 150)
})

t.test('the index lists every page', async (t) => {
  const index = read('docs/README.md')
  const pages = readdirSync(join(root, 'docs'), { recursive: true }).map(String)
  const listed = (page: string) => index.includes(`](${page.replaceAll('\\', '/')})`)
  const unlisted = pages.filter(
    (page) => /\.md$/.test(page) && !/^(README|adr.\d+-)/.test(page) && !listed(page),
  )
  t.strictSame(unlisted, [])
})

const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'CODE_OF_CONDUCT.md'],
  '.github/pull_request_template.md',
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => join('docs', String(name)))
    .filter((name) => name.endsWith('.md')),
]

t.test('no document links to a file or a heading that is not there', async (t) => {
  for (const document of documents) {
    for (const [, link = ''] of read(document).matchAll(/\]\(([^)]+)\)/g)) {
      if (/^\w+:/.test(link)) continue
      const [path, heading] = link.split('#')
      const target = path ? join(dirname(document), path) : document
      t.ok(existsSync(join(root, target)), `${document} → ${link}`)
      if (heading) t.ok(headingsOf(target).includes(heading), `${document} → ${link}`)
    }
  }
})

/** The headings of a page, as links name them. */
const headingsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )

/** Files that a document tells its readers to write. */
const toWrite = ['src/database/migrations/NNNN-what.sql', 'policies/authz/invariants/auditor_webhook.rego']

t.test('every path that a document names exists', async (t) => {
  const path =
    /(?:`|\bnode )((?:src|workers|policies|packages|tools|test|docs|bench|\.github|\.ci)\/[\w./@-]+)(?=[`\s])/g
  const named = documents.flatMap((document) =>
    [...read(document).matchAll(path)].map(([, path = '']) => ({ document, path })),
  )
  t.ok(named.length > 30)
  const missing = named.filter(({ path }) => !toWrite.includes(path) && !existsSync(join(root, path)))
  t.same(missing, [], 'write the new path there')
})

t.test('every page that the source names exists', async (t) => {
  const sources = ['src', 'workers'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  )
  const named = sources
    .filter((file) => /\.(ts|cjs)$/.test(file))
    .flatMap((file) => [...read(file).matchAll(/\bdocs\/[\w/-]+\.md/g)].map(([page]) => ({ file, page })))
  t.ok(named.length > 0)
  const missing = named.filter(({ page }) => !existsSync(join(root, page)))
  t.same(missing, [])
})

t.test('every npm script and command that a document names exists', async (t) => {
  const names = commands.map(({ name }) => name)
  const call = /npm run (?:--silent )?([\w:-]+)(?: -- (?:--json )?([a-z][\w:-]*))?/g
  for (const document of documents) {
    for (const [text, script = '', command] of read(document).matchAll(call)) {
      t.ok(script in manifest.scripts, `${document}: ${text}`)
      if (script === 'cli' && command) t.ok(names.includes(command), `${document}: ${text}`)
    }
  }
})

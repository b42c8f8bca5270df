import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { attacks } from '../adversary/attacks.ts'
import { asvsLevels } from './asvs-levels.ts'

// The tables of OWASP ASVS 5.0.0 in docs/reference/security.md, held against the list of all requirements.

const root = join(import.meta.dirname, '..', '..')
const text = readFileSync(join(root, 'docs', 'reference', 'security.md'), 'utf8')

/** The requirements and last cells of a table, by its heading. */
function table(heading: string): { ids: string[]; level: number | null; last: string }[] {
  const [, part = ''] = text.split(`\n### ${heading}\n`)
  const rows = part
    .split('\n## ')[0]!
    .split('\n### ')[0]!
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
  return rows.map((row) => {
    const cells = row.split(' | ')
    const [, numbers = ''] = /^\| ([\d., –]+)/.exec(row) ?? []
    const level = /^\| [\d., –]+\(L3\)/.test(row) ? 3 : null
    return { ids: numbers.split(',').flatMap(range), level, last: cells.at(-1)!.replace(/ \|$/, '') }
  })
}

/** `3.3.1–3.3.4` as four numbers. */
function range(numbers: string): string[] {
  const [from = '', to = from] = numbers.trim().split('–')
  const section = from.slice(0, from.lastIndexOf('.'))
  const [first, last] = [from, to].map((number) => Number(number.split('.').at(-1)))
  return Array.from({ length: last! - first! + 1 }, (_, n) => `${section}.${first! + n}`)
}

const tables = {
  met: table('Met'),
  installation: table('By the installation'),
  unmet: table('Not met'),
  none: table('Not applicable'),
}
const idsIn = (name: keyof typeof tables, most: number) =>
  tables[name].flatMap(({ ids }) => ids).filter((id) => asvsLevels.get(id)! <= most)

t.test('each requirement of levels 1 and 2 is in one of the tables, once', async (t) => {
  const named = Object.values(tables).flatMap((rows) => rows.flatMap(({ ids }) => ids))
  t.same(
    named.filter((id) => !asvsLevels.has(id)),
    [],
    'there is no such requirement',
  )
  t.same(
    named.filter((id, n) => named.indexOf(id) !== n),
    [],
    'twice',
  )
  const wanted = [...asvsLevels].filter(([, level]) => level <= 2).map(([id]) => id)
  t.same(
    wanted.filter((id) => !named.includes(id)),
    [],
    'missing',
  )
  for (const { ids, level } of Object.values(tables).flat())
    if (level === 3)
      t.ok(
        ids.some((id) => asvsLevels.get(id) === 3),
        `${ids} is of level 3`,
      )
})

t.test('level 1 is met, and 95 % of levels 1 and 2, as the page says', async (t) => {
  for (const [level, title, least] of [
    [1, '1', 1],
    [2, '1 and 2', 0.95],
  ] as const) {
    const count = (name: keyof typeof tables) => idsIn(name, level).length
    const [met, own] = [count('met'), count('met') + count('unmet')]
    t.ok(met / own >= least, `level ${level}: ${met} of ${own}`)
    const others = [count('none'), count('installation')]
    const all = [...asvsLevels.values()].filter((one) => one <= level).length
    const row = [title, all, ...others, own, met, `${((100 * met) / own).toFixed(1)} %`]
    t.match(text, `\n| ${row.join(' | ')} |\n`)
  }
})

t.test('the tests and files that show it exist', async (t) => {
  for (const { ids, last } of tables.met)
    for (const name of last.split(', ')) {
      const attack = /^adversary:(.*)$/.exec(name)?.[1]
      const isThere = attack
        ? attacks.some((one) => one.name === attack)
        : existsSync(join(root, name)) || isTest(name)
      t.ok(isThere, `${ids}: ${name}`)
    }
})

/** Whether there is a folder or a test file of this name. */
function isTest(name: string): boolean {
  const path = join(root, 'test', name)
  return existsSync(path) || existsSync(`${path}.test.ts`) || startsOne(path)
}

const startsOne = (path: string) =>
  existsSync(dirname(path)) &&
  readdirSync(dirname(path)).some((name) => name.startsWith(`${basename(path)}.`))

const sources = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const development = /^src\/start\/development\//

t.test(
  '1.2.5, 1.2.9: a running service starts no program but the compiler of policies, and makes no expression of input',
  async (t) => {
    const running = [...sources('src'), ...sources('workers')].filter((file) => !development.test(file))
    t.same(
      running.filter((file) => /child_process/.test(read(file))),
      ['src/policy-engine/opa/compile-module.ts', 'src/policy-engine/opa/opa.ts'],
    )
    t.same(
      running.filter((file) => /new RegExp\((?!`[\^(])/.test(read(file))),
      [],
      'expressions of parts are anchored, and their parts are constants',
    )
  },
)

t.test('6.2.6, 6.2.7, 3.2.2: password fields are masked, and nothing prevents pasting', async (t) => {
  const pages = [...sources('packages/console'), ...sources('src/pages')]
  t.ok(pages.length > 50)
  t.same(
    pages.filter((file) => /onPaste|innerHTML|dangerouslySetInnerHTML/i.test(read(file))),
    [],
  )
  const fields = pages.flatMap((file) => read(file).match(/name: 'password',[^}]*/g) ?? [])
  t.ok(
    fields.length >= 2 &&
      fields.every((field) => /type: 'password',\s+autocomplete: '[a-z]+-password'/.test(field)),
  )
  t.match(read('packages/console/parts/field.tsx'), "type={visible ? 'text' : 'password'}")
})

t.test('13.1.1: the connections are those of the settings', async (t) => {
  const [, part = ''] = text.split('\n### Connections\n')
  const named = {
    DATABASE_API_URL: 'Postgres',
    REDIS_URL: 'Redis',
    SMTP_URL: 'mail server',
    OTEL: 'collector',
  }
  const settings = read('docs/reference/settings.md')
  for (const [setting, name] of Object.entries(named)) {
    t.match(settings, setting)
    t.match(part, name)
  }
})

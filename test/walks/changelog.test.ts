import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sectionsOf } from '../../tools/release/changelog.ts'

const root = join(import.meta.dirname, '..', '..')
const sections = sectionsOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))
const released = sections.filter(({ version }) => version !== 'Unreleased')
const unreleased = sections.filter((section) => !released.includes(section))
const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', env: { ...process.env, TZ: 'UTC' } }).trim()

t.test('the heading of a release names its date and its commit', (t) => {
  t.ok(released.length >= 2)
  for (const { version, date } of released) t.ok(date, `## [${version}] - <date>, commit <40 digits>`)
  // A commit cannot name itself: the heading of the newest release gets it with the first change after it.
  const named = unreleased.some(({ text }) => text) ? released : released.slice(1)
  for (const { version, commit } of named)
    t.ok(commit, `add to ${version}: git rev-parse v${version}^{commit}`)
  for (const { date, commit } of unreleased) t.same([date, commit], [undefined, undefined])
  t.end()
})

t.test('the commit of a release has its version and its date', (t) => {
  const isShallow = git('rev-parse', '--is-shallow-repository') === 'true'
  for (const { version, date, commit } of isShallow ? [] : released) {
    if (!commit) continue
    t.equal(JSON.parse(git('show', `${commit}:package.json`)).version, version)
    t.equal(git('log', '-1', '--format=%cd', '--date=format-local:%Y-%m-%d', commit), date)
    t.equal(git('merge-base', commit, 'HEAD'), commit, 'main contains it')
  }
  t.end()
})

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { makeRelease, ReleaseRefused } from '../../release/make-release.ts'

const root = join(import.meta.dirname, '..', '..')
const now = new Date('2026-12-01T12:00:00Z')
const changelog = `# Changelog

## [Unreleased]

## [9.1.0] - 2026-12-01

### Added

- A wheel

## [9.0.0] - 2026-11-01

- The cart
`

/** A repository whose own check succeeds, on main, with one commit. */
function repository(t: Test, version = '9.1.0') {
  const folder = t.testdir({
    'CHANGELOG.md': changelog,
    '.gitignore': 'dist/\n',
    '.ci': { run: 'test "$CI_FULL" = true && test ! -e broken\n' },
  })
  for (const path of [
    'policies/bundle.tar.gz',
    'src/identity/auth/breached-passwords.bin',
    'src/console/bundle/index.json',
  ]) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
  const write = (file: string, content: object) => writeFileSync(join(folder, file), JSON.stringify(content))
  const lock = read('package-lock.json')
  write('package.json', { ...read('package.json'), version })
  lock.packages[''].version = version
  write('package-lock.json', { ...lock, version })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.name', 'Test')
  git('config', 'user.email', 'test@example.com')
  const commit = () => {
    git('add', '.')
    git('commit', '--quiet', '--message', 'All')
    return git('rev-parse', 'HEAD')
  }
  const first = commit()
  const printed: string[] = []
  const release = (checked?: string) =>
    makeRelease({ root: folder, checked, now, print: (line) => printed.push(line) })
  return { folder, git, commit, first, release, printed }
}

t.test('a release is an archive, an SBOM, their checksums and an annotated tag', async (t) => {
  const { folder, git, first, release, printed } = repository(t)
  await release()
  t.equal(git('rev-parse', 'v9.1.0^{commit}'), first)
  t.equal(git('cat-file', '-t', 'v9.1.0'), 'tag')
  t.equal(git('tag', '--list', '--format=%(contents)', 'v9.1.0'), 'Bailiwick 9.1.0\n\n### Added\n\n- A wheel')
  const names = ['bailiwick-9.1.0.tar.gz', 'bailiwick-9.1.0.cdx.json']
  t.same(readdirSync(join(folder, 'dist')).sort(), [...names, 'SHA256SUMS'].sort())
  t.match(
    execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: join(folder, 'dist'), encoding: 'utf8' }),
    /OK\n.*OK\n/,
  )
  t.match(
    JSON.parse(readFileSync(join(folder, 'dist', names[1]!), 'utf8')).metadata.component.version,
    '9.1.0',
  )
  t.equal(printed.at(-1), 'Push with: git push --atomic origin main v9.1.0')
  t.equal(git('status', '--porcelain'), '')
})

t.test('every reason against a release is given at once, and nothing is made', async (t) => {
  const { folder, git, first, release } = repository(t)
  git('tag', 'v9.1.0')
  git('switch', '--quiet', '--create', 'feature')
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog.replace('2026-12-01', 'soon'))
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  writeFileSync(join(folder, 'package-lock.json'), lock.replace('"version":"9.1.0"', '"version":"9.0.0"'))
  const error = await release(`${first}~1`).catch((error) => error)
  t.ok(error instanceof ReleaseRefused)
  t.match(error.message, /Files have changed: .*\n M CHANGELOG.md\n M package-lock.json/)
  t.match(error.message, 'This is the branch "feature": switch to main')
  t.match(error.message, 'The tag v9.1.0 exists')
  t.match(error.message, /package-lock.json (9.0.0 and 9.1.0|9.1.0 and 9.0.0): run npm install/)
  t.match(error.message, 'write "## [9.1.0] - 2026-12-01"')
  t.match(error.message, 'which would be released')
  t.notOk(existsSync(join(folder, 'dist')))
})

t.test('a release is refused where the whole check fails, unless it passed on this commit', async (t) => {
  const { folder, git, commit, first, release } = repository(t)
  writeFileSync(join(folder, 'broken'), '')
  const second = commit()
  await t.rejects(release(), /CI_FULL=true .ci\/run failed/)
  await t.rejects(release(first), `--checked ${first} is not`)
  t.equal(git('tag', '--list'), '')
  await release(second.slice(0, 10))
  t.equal(git('rev-parse', 'v9.1.0^{commit}'), second)
})

t.test('a changelog dated later, or empty, stops the release', async (t) => {
  const { folder, commit, release } = repository(t)
  writeFileSync(join(folder, 'CHANGELOG.md'), '## [9.1.0] - 2026-12-02\n\n- A wheel\n')
  await t.rejects(release(commit()), /dates 9.1.0 2026-12-02, which is not yet: write 2026-12-01/)
  writeFileSync(join(folder, 'CHANGELOG.md'), '## [9.1.0] - 2026-12-01\n\n## [9.0.0] - 2026-11-01\n')
  await t.rejects(release(commit()), /says nothing below/)
})

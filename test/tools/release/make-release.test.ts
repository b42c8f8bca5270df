import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changelog, cloneOf, day, originOf } from './checkout.ts'

const origin = originOf(t)
const clone = (t: Test) => cloneOf(origin, t)

t.test('a release is refused where the whole check fails, or passed on another commit', async (t) => {
  const { git, write, commit, first, release } = clone(t)
  write('broken', '')
  commit()
  t.match(await release('--without-image'), { code: 1, err: /CI_FULL=true .ci\/run failed/ })
  t.match(await release('--without-image', '--checked', first), { code: 1, err: `--checked ${first} is not` })
  t.equal(git('tag', '--list'), '')
})

t.test('every reason against a release is given at once, and nothing is made', async (t) => {
  const { folder, checkout, git, write, edit, first, release } = clone(t)
  git('tag', 'v9.1.0', first)
  git('commit', '--quiet', '--allow-empty', '--message', 'Next')
  git('switch', '--quiet', '--create', 'feature')
  write(
    'CHANGELOG.md',
    changelog.replace(day, 'soon').replace('[Unreleased]\n', '[Unreleased]\n\n- A bell\n'),
  )
  edit('package-lock.json', '"version": "9.1.0"', '"version": "9.0.0"')
  const { code, err } = await release('--checked', first, '--out', join(folder, 'bin'))
  t.equal(code, 1)
  t.match(err, /^Not released:\nFiles have changed: .*\n M CHANGELOG.md\n M package-lock.json/)
  t.match(err, 'This is the branch "feature": switch to main')
  t.match(err, `The tag v9.1.0 is on ${first.slice(0, 12)}`)
  t.match(err, /package-lock.json (9.0.0 and 9.1.0|9.1.0 and 9.0.0): run npm install/)
  t.match(err, `CHANGELOG.md has changes below "Unreleased": move them below "## [9.1.0] - ${day}"`)
  t.match(err, `no dated heading for 9.1.0: write "## [9.1.0] - ${day}"`)
  t.match(err, /bin has files: name a folder that is new or empty/)
  t.match(err, 'No docker daemon answers, so the image cannot be built: start one, or say --without-image')
  t.match(err, `--checked ${first} is not`)
  t.notOk(existsSync(join(checkout, 'dist')))
})

t.test('a changelog of another day, or empty, or of what was released, stops the release', async (t) => {
  const { write, commit, release } = clone(t)
  const refusal = async (text: string) => {
    write('CHANGELOG.md', text)
    return (await release('--without-image', '--checked', commit())).err
  }
  t.match(await refusal('## [9.1.0] - 2026-12-02\n\n- A wheel\n'), `but its commit is of ${day} (UTC)`)
  t.match(await refusal(`## [9.1.0] - ${day}\n\n## [9.0.0] - 2026-11-01\n`), /says nothing below/)
  const released = `## [9.1.0] - ${day}, commit ${'0'.repeat(40)}\n\n- A wheel\n`
  t.match(await refusal(released), '9.1.0 was released: write the next version into package.json')
})

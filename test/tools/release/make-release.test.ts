import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import t, { type Test } from 'tap'

const root = join(import.meta.dirname, '..', '..', '..')
const day = '2026-12-01'
const changelog = `# Changelog

## [Unreleased]

## [9.1.0] - ${day}

### Added

- A wheel

### Before you upgrade

- Buy an axle

## [9.0.0] - 2026-11-01, commit ${'0'.repeat(40)}

- The cart
`

/** A docker whose daemon is away, or that builds: it keeps the context of a build, and saves an image of one line. */
const docker = (runs: boolean) => `#!/bin/sh
printf '%s\\n' "$*" >> "$(dirname "$0")/calls"
case $1 in
  version) ${runs ? 'exit 0' : 'echo no daemon >&2; exit 1'} ;;
  build) cat > "$(dirname "$0")/context.tar" ;;
  save) echo image ;;
esac
`

const at = `${day}T12:00:00Z`
const author = { GIT_AUTHOR_NAME: 'Test', GIT_AUTHOR_EMAIL: 'test@example.com', GIT_AUTHOR_DATE: at }
const committer = {
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
  GIT_COMMITTER_DATE: at,
}
const gitIn = (folder: string, ...args: string[]) => {
  const env = { ...process.env, ...author, ...committer }
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim()
}
const editIn = (folder: string, path: string, from: string | RegExp, to: string) =>
  writeFileSync(join(folder, path), readFileSync(join(folder, path), 'utf8').replace(from, to))

/** This checkout as it is, on main, in one commit of `day`; its own check succeeds. */
const origin = `${t.testdir({ origin: {} })}/origin`
for (const path of gitIn(root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')) {
  if (!path || !existsSync(join(root, path))) continue
  mkdirSync(join(origin, dirname(path)), { recursive: true })
  cpSync(join(root, path), join(origin, path))
}
writeFileSync(join(origin, 'CHANGELOG.md'), changelog)
writeFileSync(join(origin, '.ci/run'), 'test "$CI_FULL" = true && test ! -e broken\n')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const ours = new RegExp(`("name": "bailiwick",\\s+"version": )"${version}"`, 'g')
for (const path of ['package.json', 'package-lock.json']) editIn(origin, path, ours, '$1"9.1.0"')
gitIn(origin, 'init', '--quiet', '--initial-branch=main')
gitIn(origin, 'add', '.')
gitIn(origin, 'commit', '--quiet', '--message', 'All')

/** A clone of it, with or without a docker daemon. */
function clone(t: Test, { daemon = false } = {}) {
  const folder = t.testdir({ bin: {} })
  const [bin, checkout] = [join(folder, 'bin'), join(folder, 'checkout')]
  gitIn(folder, 'clone', '--quiet', origin, checkout)
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  writeFileSync(join(bin, 'docker'), docker(daemon), { mode: 0o755 })
  const write = (path: string, text: string) => writeFileSync(join(checkout, path), text)
  const edit = (path: string, from: string | RegExp, to: string) => editIn(checkout, path, from, to)
  const git = (...args: string[]) => gitIn(checkout, ...args)
  const commit = () => {
    git('add', '.')
    git('commit', '--quiet', '--message', 'More')
    return git('rev-parse', 'HEAD')
  }
  const env = {
    ...process.env,
    ...committer,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
  }
  const releaseWith = (umask: string, ...args: string[]) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const line = [
        '-c',
        `umask ${umask}; exec "$0" src/start/entry.cjs release "$@"`,
        process.execPath,
        ...args,
      ]
      execFile('sh', line, { cwd: checkout, env }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
      )
    })
  const release = (...args: string[]) => releaseWith('022', ...args)
  return {
    folder,
    bin,
    checkout,
    write,
    edit,
    git,
    commit,
    first: git('rev-parse', 'HEAD'),
    release,
    releaseWith,
  }
}

const names = [
  ...['SHA256SUMS', 'bailiwick-9.1.0.cdx.json', 'bailiwick-9.1.0.notes.md', 'bailiwick-9.1.0.tar.gz'],
  'bailiwick-client-9.1.0.tgz',
]
const entriesOf = (archive: string): string[] =>
  execFileSync('tar', ['-tf', archive], { encoding: 'utf8' }).trim().split('\n')
const check = (folder: string) =>
  execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' })

t.test('a release is made of files that one commit always gives, and of a tag', async (t) => {
  const { folder, bin, checkout, git, first, release, releaseWith, write } = clone(t, { daemon: true })
  const { code, out, err } = await release('--without-image')
  t.same([code, err], [0, ''])
  t.match(out, 'The image was not built.\n')
  t.match(out, 'package.json has no repository')
  t.match(out, /git push --atomic origin main v9\.1\.0\n$/)
  t.equal(git('status', '--porcelain'), '')
  t.equal(git('rev-parse', 'v9.1.0^{commit}'), first)
  t.equal(git('cat-file', '-t', 'v9.1.0'), 'tag')
  const notes = '### Before you upgrade\n\n- Buy an axle\n\n### Added\n\n- A wheel'
  t.equal(git('tag', '--list', '--format=%(contents)', 'v9.1.0'), `Bailiwick 9.1.0\n\n${notes}`)

  const dist = join(checkout, 'dist')
  const read = (name: string) => readFileSync(join(dist, name), 'utf8')
  t.same(readdirSync(dist).sort(), names)
  t.equal(check(dist).match(/: OK$/gm)?.length, 4)
  t.equal(read('bailiwick-9.1.0.notes.md'), `# Bailiwick 9.1.0\n\nCommit ${first}\n\n${notes}\n`)
  t.match(JSON.parse(read('bailiwick-9.1.0.cdx.json')), {
    bomFormat: 'CycloneDX',
    metadata: { timestamp: `${day}T12:00:00.000Z`, component: { name: 'bailiwick', version: '9.1.0' } },
  })
  const sources = entriesOf(join(dist, 'bailiwick-9.1.0.tar.gz'))
  t.ok(
    sources.includes('bailiwick-9.1.0/src/start/entry.cjs') && sources.includes('bailiwick-9.1.0/Dockerfile'),
  )
  const index = 'bailiwick-9.1.0/packages/console/bundle/index.json'
  t.ok(sources.includes(index), 'with the pages of the console, which git does not have')
  t.same(
    sources.filter((path) => /node_modules|\.git\/|\/dist\//.test(path)),
    [],
  )

  const again = join(folder, 'again')
  write('src/secret.log', 'ignored by git')
  t.match(await releaseWith('077', '--checked', first.slice(0, 10), '--out', again), { code: 0, err: /^$/ })
  for (const line of read('SHA256SUMS').trim().split('\n'))
    t.ok(readFileSync(join(again, 'SHA256SUMS'), 'utf8').includes(line), line)
  await t.test(
    'with a docker daemon, the image is built of what git has and saved beside the others',
    async (t) => {
      t.match(check(again), 'bailiwick-9.1.0.image.tar.gz: OK')
      t.equal(
        execFileSync('gunzip', ['-c', join(again, 'bailiwick-9.1.0.image.tar.gz')]).toString(),
        'image\n',
      )
      const calls = readFileSync(join(bin, 'calls'), 'utf8')
      t.match(calls, '--tag bailiwick:9.1.0 ')
      t.match(calls, `--label org.opencontainers.image.revision=${first} `)
      const context = entriesOf(join(bin, 'context.tar'))
      t.ok(context.includes('Dockerfile') && context.includes('.dockerignore'))
      t.notOk(context.includes('src/secret.log'))
    },
  )
  await t.test('npm installs its client into an empty project, which imports it', async (t) => {
    const project = join(folder, 'project')
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}')
    const run = (command: string, ...args: string[]) =>
      execFileSync(command, args, { cwd: project, encoding: 'utf8' })
    // jose is given as an archive, too, because a test asks no registry.
    const jose = join(root, 'node_modules/jose')
    const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', '--offline', '--ignore-scripts', jose))
    const archive = join(again, 'bailiwick-client-9.1.0.tgz')
    run('npm', 'install', '--offline', '--no-audit', '--no-fund', archive, `./${filename}`)

    const { exports, ...manifest } = JSON.parse(
      readFileSync(join(project, 'node_modules/@bailiwick/client/package.json'), 'utf8'),
    )
    t.match(manifest, {
      version: '9.1.0',
      license: 'Apache-2.0',
      types: './exports.d.ts',
      engines: { node: /^>=/ },
      publishConfig: { access: 'public', provenance: true },
    })
    t.notOk(manifest.scripts || manifest.devDependencies)
    const modules = Object.keys(exports).filter((path) => path !== './package.json')
    t.ok(modules.includes('./koa'))
    const code = `for (const path of ${JSON.stringify(modules)})
    console.log(Object.keys(await import('@bailiwick/client' + path.slice(1))).join())`
    t.match(run(process.execPath, '--input-type=module', '--eval', code), /createClient.*\n.*koaGuard/)
  })
})

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

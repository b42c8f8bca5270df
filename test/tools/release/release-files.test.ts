import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cloneOf, day, originOf, root } from './checkout.ts'

const origin = originOf(t)
const names = [
  ...['SHA256SUMS', 'bailiwick-9.1.0.cdx.json', 'bailiwick-9.1.0.notes.md', 'bailiwick-9.1.0.tar.gz'],
  'bailiwick-client-9.1.0.tgz',
]
const entriesOf = (archive: string): string[] =>
  execFileSync('tar', ['-tf', archive], { encoding: 'utf8' }).trim().split('\n')
const check = (folder: string) =>
  execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' })

t.test('a release is made of files that one commit always gives, and of a tag', async (t) => {
  const { folder, bin, checkout, git, first, release, releaseWith, write } = cloneOf(origin, t, {
    daemon: true,
  })
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

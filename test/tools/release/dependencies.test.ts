import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  findLockProblems,
  findNpmrcProblems,
  type LockEntry,
  type Manifest,
} from '../../../tools/release/find-lock-problems.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
const manifest = read('package.json')
const workspaces: Manifest[] = manifest.workspaces.map((folder: string) => read(`${folder}/package.json`))
const lock = read('package-lock.json')
const jose: LockEntry = lock.packages['node_modules/jose']

t.test('package.json and package-lock.json hold only what they may', async (t) => {
  t.same(findLockProblems(manifest, lock, workspaces), [])
  t.same(findNpmrcProblems(readFileSync(join(root, '.npmrc'), 'utf8')), [])
})

t.test('npm ci --omit=dev installs what the service loads, and nothing of the console', async (t) => {
  const installed = Object.entries<LockEntry>(lock.packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
  )
  t.ok(installed.length <= 302, `${installed.length} packages, those of other systems included`)
  const console = workspaces.find(({ name }) => name === '@bailiwick/console')!
  t.notOk(console.dependencies)
  const names = new Set(installed.map(([path]) => path.slice('node_modules/'.length)))
  for (const name of Object.keys(manifest.dependencies)) t.ok(names.has(name), name)
  t.same(
    Object.keys(console.devDependencies!).filter((name) => names.has(name)),
    [],
  )
})

t.test('only the workspaces are links, and the registry is never asked for their names', async (t) => {
  const one: Manifest = { name: '@a/one', dependencies: { '@a/two': '*' } }
  const two: Manifest = { name: '@a/two', scripts: { prepare: 'true' }, dependencies: { jose: '*' } }
  const packages = {
    one: {},
    two: {},
    'node_modules/@a/one': { resolved: 'one', link: true },
    'node_modules/jose': { resolved: 'two', link: true },
  }
  const problems = findLockProblems({ workspaces: ['one', 'two'] }, { packages }, [one, two])
  t.match(problems, [
    'package.json has the script "prepare"',
    'package.json asks for jose by "*": name a version',
    'node_modules/jose is not from the registry (resolved: two)',
    'node_modules/jose has no single sha512',
    'node_modules/jose has the licence ""',
  ])
  t.equal(problems.length, 5)
})

t.test('a script that npm would run on its own is refused', async (t) => {
  for (const name of ['dependencies', 'postinstall', 'prepare'])
    t.match(findLockProblems({ scripts: { [name]: 'true' } }, { packages: {} }), [
      `package.json has the script "${name}", which npm runs after an installation: give it another name`,
    ])
  t.same(findLockProblems({ scripts: { start: 'true' } }, { packages: {} }), [])
})

t.test('a registry of one machine does not get into the repository', async (t) => {
  const lines = [
    'registry=https://a.example/',
    '@b:registry = https://a.example/',
    '//a.example/:_authToken=secret',
  ]
  t.match(findNpmrcProblems(lines.join('\n')), [/"registry"/, /"@b:registry"/, /_authToken"/])
  t.notMatch(findNpmrcProblems(lines.join('\n')).join(), 'secret')
})

t.test('a package that does not come from the registry by its hash is refused', async (t) => {
  const problemsOf = (entry: LockEntry, path = 'node_modules/jose') =>
    findLockProblems({ dependencies: { jose: '^6.0.0' } }, { packages: { [path]: { ...jose, ...entry } } })
  t.same(problemsOf({}), [])
  t.match(problemsOf({ resolved: 'git+ssh://git@example.com/jose.git#1234567' }), [/not from the registry/])
  t.match(problemsOf({ resolved: 'https://registry.example/jose.tgz' }), [/not from the registry/])
  t.match(problemsOf({ link: true }), [/not from the registry/])
  t.match(problemsOf({ integrity: undefined }), [/no single sha512/])
  t.match(problemsOf({ integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }), [/no single sha512/])
  t.match(problemsOf({ name: 'joose' }), [/holds joose, and no manifest asks for that alias/])
  t.match(problemsOf({ license: 'AGPL-3.0-only' }), [/the licence "AGPL-3.0-only"/])
  t.match(problemsOf({ license: '(MIT AND GPL-2.0-only)' }), [/the licence/])
  t.same(problemsOf({ license: '(GPL-2.0-only OR MIT)' }), [])
  t.match(problemsOf({ license: undefined }), [/the licence ""/])
  t.match(problemsOf({ hasInstallScript: true }), [/add "jose" to allowScripts/])
  t.match(problemsOf({ deprecated: 'Use another' }), ['jose@6.2.17 is deprecated: Use another'])
  t.same(
    problemsOf({ deprecated: 'Use another' }, 'node_modules/x/node_modules/jose'),
    [],
    'not ours to replace',
  )
  for (const range of [
    'github:panva/jose',
    'https://example.com/jose.tgz',
    'file:../jose',
    '*',
    'latest',
    '>=6',
  ])
    t.match(findLockProblems({ dependencies: { jose: range } }, { packages: {} }), [/name a version/], range)
})

/** `npm run dependencies:check`, in a folder with jose as the one dependency, against a registry that answers like this. */
async function check(t: Test, answer: RequestListener) {
  const registry = createServer(answer).listen(0, '127.0.0.1')
  t.teardown(() => registry.close())
  await new Promise((resolve) => registry.once('listening', resolve))
  const dependencies = { jose: manifest.dependencies.jose }
  const folder = t.testdir({
    'package.json': JSON.stringify({ name: 'one', version: '1.0.0', dependencies }),
    'package-lock.json': JSON.stringify({
      ...{ name: 'one', version: '1.0.0', lockfileVersion: 3, requires: true },
      packages: { '': { name: 'one', version: '1.0.0', dependencies }, 'node_modules/jose': jose },
    }),
  })
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`,
    npm_config_cache: join(folder, 'cache'),
  }
  const script = join(root, 'tools', 'release', 'dependencies.ts')
  return new Promise<{ code: unknown; stdout: string }>((resolve) => {
    execFile(process.execPath, [script], { cwd: folder, env }, (error, stdout) =>
      resolve({ code: error?.code ?? 0, stdout }),
    )
  })
}

t.test('where the registry does not answer for advisories, the check says so and goes on', async (t) => {
  const { code, stdout } = await check(t, (request, response) => {
    response.writeHead(request.method === 'POST' ? 405 : 404).end()
  })
  t.equal(code, 0)
  t.match(stdout, 'package-lock.json: 1 packages, 0 problems')
  t.match(stdout, 'Advisories: not available here (npm audit: 405)')
})

t.test('an advisory of high severity fails the check', async (t) => {
  const title = 'Signatures are not verified'
  const advisory = { id: 1, url: 'https://example.com/a', title, severity: 'high', vulnerable_versions: '<7' }
  const { code, stdout } = await check(t, (request, response) => {
    const versions = { [jose.version!]: { name: 'jose', version: jose.version, dist: {} } }
    const packument = { name: 'jose', 'dist-tags': { latest: jose.version }, versions }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.method === 'POST' ? { jose: [advisory] } : packument))
  })
  t.equal(code, 1)
  t.match(
    stdout,
    'Advisories: 1 high or critical, 0 of less severity\n  jose, high: Signatures are not verified https',
  )
})

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { decodeJwt } from 'jose'
import t from 'tap'
import { startService } from '../helpers/service.ts'
import { compile, install, packedClient, repository, root } from './stranger.ts'

const exec = promisify(execFile)
const tutorial = join(root, 'docs/tutorial')
const folder = t.testdir()
const archive = await packedClient(folder)
const frameworks = ['koa', '@types/koa', '@koa/router', 'express', '@types/express', 'fastify']
const beside = [...frameworks, '@types/node', 'openid-client', 'oauth4webapi']
const packed = await install(folder, archive, beside)
await cp(join(tutorial, 'notes'), folder, { recursive: true })
await cp(join(import.meta.dirname, 'typed'), folder, { recursive: true })

t.test('the package has modules, declarations, a manifest and texts, and nothing else', async (t) => {
  const { stdout } = await exec('tar', ['-tzf', archive])
  const files = stdout
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''))
  t.same(
    files.filter((path) => !/^((sign-in\/)?[\w-]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(path)),
    [],
  )
  const manifest = JSON.parse(await readFile(join(packed, 'package.json'), 'utf8'))
  t.strictSame(Object.keys(manifest.dependencies), ['jose'])
  t.strictSame(manifest.repository, { ...repository, directory: 'packages/client' })
  for (const entry of Object.values<{ types: string; default: string }>(manifest.exports).slice(0, -1))
    for (const path of Object.values(entry)) t.ok(files.includes(path.slice(2)), path)
  const code = await Promise.all(
    files.filter((path) => path.endsWith('.js')).map((path) => readFile(join(packed, path), 'utf8')),
  )
  t.notMatch(code.join('\n'), /from '(node:|[^'.]*\.ts')|process\.|Buffer\b/, 'it runs in browsers')
})

t.test('what strict TypeScript says of calls, against the declarations of the package', async (t) => {
  const readme = await readFile(join(root, 'packages/client/README.md'), 'utf8')
  const examples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
  const head = "import { createClient } from '@bailiwick/client'\nconst client = createClient({ url: 'x' })\n"
  const misspelt = "client.call('GET /tenant/{id}/', { path: { id: 'x' } })"
  const mistakes = [
    "call('GET /tenants/{id}/')",
    "call('GET /tenants/{id}/', { path: { tid: 'x' } })",
    "call('POST /tenants/', { body: {} })",
    "callOrStore('POST /tenants/', { body: { name: 'x' } })",
    "call('POST /policies/', { body: { name: 'x', effect: 'allow', actions: ['a:b'], condition: null } })",
    "call('POST /policies/', { body: { name: 'x', effect: 'allow', actions: ['a:b'], conditions: { attribute: 'a.b', operator: 'greater' } } })",
    "call('GET /users/me/', { prefer: 'respond-async' })",
  ]
  const written = {
    ...Object.fromEntries(examples.map((code, index) => [`readme-${index}.ts`, code])),
    'misspelt.ts': `${head}await ${misspelt}\n`,
    'wrong.ts': `${head}${mistakes.map((call) => `await client.${call}`).join('\n')}\n`,
  }
  for (const [name, code] of Object.entries(written)) await writeFile(join(folder, name), code)
  const sources = (await readdir(folder)).filter((name) => name.endsWith('.ts'))
  // Once for all, because the compiler reads the declarations of the frameworks for longer than the files.
  const errors = (await compile(folder, sources)).split(/\n(?=\S)/)
  const about = (file: string) => errors.filter((error) => error.startsWith(`${file}(`))

  t.test('guards in the ordinary use of each framework, calls, and the tutorial compile', async (t) => {
    for (const name of ['calls', 'express', 'fastify', 'koa', 'next', 'server', 'walk'])
      t.ok(sources.includes(`${name}.ts`), name)
    t.same(
      errors.filter((error) => !/^((misspelt|wrong)\.ts\(|\n*$)/.test(error)),
      [],
    )
  })

  t.test('the examples of the README compile as they stand', async (t) => {
    t.equal(examples.length, 10)
    for (const framework of ['express', 'fastify', 'koa', 'next'])
      t.ok(
        examples.some((code) => code.includes(`@bailiwick/client/${framework}'`)),
        framework,
      )
    for (const index of examples.keys()) t.same(about(`readme-${index}.ts`), [])
  })

  t.test('an error about a misspelt operation names it', async (t) => {
    const said = about('misspelt.ts').join('\n')
    t.match(said, /misspelt\.ts\(3,19\).*'"GET \/tenant\/\{id\}\/"' is not assignable/)
    t.notMatch(said, /Expected 2 arguments/)
  })

  t.test('mistakes in an input are errors where they are', async (t) => {
    const lines = about('wrong.ts').map((error) => Number(/\((\d+),/.exec(error)?.[1]))
    t.same(
      [...new Set(lines)],
      mistakes.map((_, index) => index + 3),
    )
  })
})

t.test('the page shows the code that is run, and what it prints', async (t) => {
  const page = await readFile(join(tutorial, 'notes.md'), 'utf8')
  for (const file of ['server.ts', 'walk.ts']) {
    const source = await readFile(join(tutorial, 'notes', file), 'utf8')
    const regions = [...source.matchAll(/^\/\/ #region \w+\n(.*?)\n\/\/ #endregion$/gms)]
    t.ok(regions.length >= 3)
    for (const [, code = ''] of regions) t.ok(page.includes(`\`\`\`ts\n${code}\n\`\`\``), code)
  }
  const [, output] = /walk\.ts`:\n\n```\n(.*?)^```$/ms.exec(page) ?? []

  const service = await startService(t, { workers: false })
  service.advance(Date.now() - service.now()) // jose uses the clock of the machine
  const { iss } = decodeJwt((await service.signUp()).access)
  const env = { ...process.env, BAILIWICK_URL: service.url, BAILIWICK_ISSUER: iss, PORT: '0' }
  const notes = spawn(process.execPath, ['server.ts'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => notes.kill())
  const [first] = await once(createInterface(notes.stdout), 'line')
  const at = first.split(' ').at(-1)
  const { stdout } = await exec(process.execPath, ['walk.ts'], {
    cwd: folder,
    env: { ...env, NOTES_URL: at },
  })
  t.equal(stdout, output)
})

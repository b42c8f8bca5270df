import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { decodeJwt } from 'jose'
import t from 'tap'
import { startService } from '../helpers/service.ts'
import { compile, install, packedClient, root } from './stranger.ts'

const exec = promisify(execFile)
const tutorial = join(root, 'docs/tutorial')
const folder = t.testdir()
const archive = await packedClient(folder)
const packed = await install(folder, archive, ['koa', '@types/koa', '@types/node'])
await cp(join(tutorial, 'notes'), folder, { recursive: true })

t.test('the package has modules, declarations, a manifest and texts, and nothing else', async (t) => {
  const { stdout } = await exec('tar', ['-tzf', archive])
  const files = stdout
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''))
  t.same(
    files.filter((path) => !/^([\w-]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(path)),
    [],
  )
  const manifest = JSON.parse(await readFile(join(packed, 'package.json'), 'utf8'))
  t.strictSame(Object.keys(manifest.dependencies), ['jose'])
  for (const entry of Object.values<{ types: string; default: string }>(manifest.exports).slice(0, -1))
    for (const path of Object.values(entry)) t.ok(files.includes(path.slice(2)), path)
  const code = await Promise.all(
    files.filter((path) => path.endsWith('.js')).map((path) => readFile(join(packed, path), 'utf8')),
  )
  t.notMatch(code.join('\n'), /from '(node:|[^'.]*\.ts')|process\.|Buffer\b/, 'it runs in browsers')
})

t.test('the tutorial compiles against the declarations of the package', async (t) => {
  t.equal(await compile(folder, ['server.ts', 'walk.ts']), '')
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

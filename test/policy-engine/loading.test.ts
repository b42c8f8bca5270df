import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import {
  bundleName,
  policiesFolder,
  readBundle,
  sourcesRevision,
} from '../../src/policy-engine/evaluate/bundle.ts'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { entrypoints, instantiatorOf } from '../../src/policy-engine/evaluate/policy-instance.ts'
import { resolveOpa, run } from '../../src/policy-engine/opa/opa.ts'
import { cpuTime } from '../helpers/cpu-time.ts'

const real = `${policiesFolder}${bundleName}`
const opa = await resolveOpa({ install: false, print: () => {} }).catch(() => undefined)
const needsOpa = opa || process.env.CI === 'true' ? {} : { skip: 'opa is not installed here' }

function copyOfPolicies(t: { testdir(): string }): string {
  const folder = t.testdir()
  cpSync(policiesFolder, folder, { recursive: true })
  return folder
}

async function built(folder: string, ...args: string[]): Promise<string> {
  const output = join(folder, 'built.tar.gz')
  const { code, stderr } = await run(opa as string, ['build', '-t', 'wasm', '-o', output, ...args])
  if (code !== 0) throw new Error(stderr)
  return output
}

t.test('the committed bundle opens, and quickly', async (t) => {
  const ms = await cpuTime(async () => {
    const { revision } = await openAccessEngine()
    t.equal(revision, sourcesRevision(policiesFolder))
  })
  t.comment(`opened in ${ms.toFixed(0)} ms`)
  t.ok(ms < 2_000)
})

t.test('a file that is not a bundle is refused', async (t) => {
  const folder = t.testdir({ garbage: 'garbage', empty: gzipSync('') })
  for (const name of ['missing', 'garbage'])
    await t.rejects(openAccessEngine(join(folder, name)), {
      message: `The policy bundle ${join(folder, name)} is missing or damaged. Restore it`,
    })
  await t.rejects(openAccessEngine(join(folder, 'empty')), { cause: { message: /has no .manifest/ } })
  writeFileSync(join(folder, 'text'), gzipSync('x'.repeat(1024)))
  await t.rejects(openAccessEngine(join(folder, 'text')), { cause: { message: /not a tar archive/ } })
})

t.test('a truncated module is refused', async (t) => {
  const bundle = readBundle(real)
  t.throws(() => instantiatorOf({ ...bundle, wasm: bundle.wasm.slice(0, 10_000) }))
})

t.test('a bundle of other sources is refused', async (t) => {
  const folder = copyOfPolicies(t)
  appendFileSync(join(folder, 'lib/shape.rego'), '\n')
  await t.rejects(openAccessEngine(real, folder), {
    message: /other sources. Build it again: npm run policies/,
  })
})

t.test('a bundle whose manifest names another revision is refused', async (t) => {
  const folder = t.testdir()
  const revision = sourcesRevision(policiesFolder)
  const tar = gunzipSync(readFileSync(real)).toString('latin1').replaceAll(revision, '0'.repeat(64))
  const forged = join(folder, 'forged.tar.gz')
  writeFileSync(forged, gzipSync(Buffer.from(tar, 'latin1')))
  await t.rejects(openAccessEngine(forged), { message: /other sources/ })
})

t.test('a bundle with another catalogue than the code is refused', async (t) => {
  const folder = t.testdir()
  const tar = gunzipSync(readFileSync(real)).toString('latin1')
  const forged = join(folder, 'forged.tar.gz')
  const widened = tar.replace('"needs_tenant":true', '"needs_tenant":null')
  t.not(widened, tar)
  writeFileSync(forged, gzipSync(Buffer.from(widened, 'latin1')))
  await t.rejects(openAccessEngine(forged), { message: /has other actions/ })
})

t.test('policies with a wrong answer to a golden case are refused', async (t) => {
  const folder = copyOfPolicies(t)
  const path = join(folder, 'cases/roles.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"x x . . ."', '"x x x . ."'))
  await t.rejects(openAccessEngine(real, folder), { message: /golden case "tenant:update member route"/ })
})

t.test('a module that calls into its host is refused', needsOpa, async (t) => {
  const folder = t.testdir({
    'x.rego': 'package authz\n\n# METADATA\n# entrypoint: true\ndecision := sprintf("%d", [input.n])\n',
  })
  const bundle = readBundle(await built(folder, join(folder, 'x.rego')), 'any')
  t.throws(() => instantiatorOf(bundle)(), { message: /built-ins of the host: sprintf/ })
})

t.test('a module without an entry point is refused', needsOpa, async (t) => {
  const rego = 'package authz\n\n# METADATA\n# entrypoint: true\ndecision := true\n'
  const folder = t.testdir({ 'x.rego': rego })
  const bundle = readBundle(await built(folder, join(folder, 'x.rego')), 'any')
  t.throws(() => instantiatorOf(bundle)(), { message: /lacks authz\/explain/ })
})

t.test('policies without a denial that a golden case needs do not load', needsOpa, async (t) => {
  const folder = copyOfPolicies(t)
  const path = join(folder, 'authz/invariants/isolation.rego')
  writeFileSync(path, readFileSync(path, 'utf8').replace('if not _resource_in_scope', 'if 1 == 2'))
  const revision = sourcesRevision(folder)
  const bundle = await built(
    folder,
    '-b',
    folder,
    ...entrypoints.flatMap((name) => ['-e', name]),
    '--ignore',
    '*_test.rego',
    '-r',
    revision,
  )
  await t.rejects(openAccessEngine(bundle, folder), { message: /golden case .*out of reach/ })
})

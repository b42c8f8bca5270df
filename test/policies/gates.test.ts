import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sourcesRevision } from '../../src/policy-engine/evaluate/bundle.ts'
import { entrypoints } from '../../src/policy-engine/evaluate/policy-instance.ts'
import { opaVersion, projectRoot, resolveOpa, run } from '../../src/policy-engine/opa/opa.ts'
import { checkPolicies, ensureBundle } from '../../src/policy-engine/opa/policies.ts'
import { findTraps } from '../../src/policy-engine/opa/rego-traps.ts'

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)

if (opa instanceof Error) {
  if (process.env.CI === 'true') t.fail(opa.message)
  else t.test('the gates of opa', { skip: opa.message }, async () => {})
} else {
  // .ci/run has a section that does the same.
  if (process.env.SKIP_POLICY_CHECK !== 'true')
    t.test(
      'the policies pass format, types, traps and tests, and the generated files are up to date',
      async () => {
        await checkPolicies({ opaPath: opa, print })
      },
    )

  t.test('the bundle is the same, byte for byte, when built in another folder', async (t) => {
    const place = t.testdir()
    cpSync(`${projectRoot}policies`, join(place, 'policies'), { recursive: true })
    const revision = sourcesRevision(`${projectRoot}policies`)
    // The same build as in the check, but from another root: only the relative path of the policies matters.
    const recipe =
      `cd "$0" && exec "$1" build -t wasm ${entrypoints.map((name) => `-e ${name}`).join(' ')} -b policies --ignore "*_test.rego" ` +
      `--prune-unused --capabilities policies/capabilities/platform.json -r "$2" -o built.tar.gz`
    const { code, stderr } = await run('sh', ['-c', recipe, place, opa, revision])
    t.equal(code, 0, stderr)
    const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
    t.equal(digest(join(place, 'built.tar.gz')), digest(`${projectRoot}policies/bundle.tar.gz`))
  })

  t.test('compiling refuses a built-in of the host', async (t) => {
    const place = t.testdir({ 'x.rego': 'package x\n\nr := sprintf("%d", [input.n])\n' })
    const capabilities = ['--capabilities', 'policies/capabilities/platform.json']
    const { code, stderr } = await run(opa, ['check', ...capabilities, join(place, 'x.rego')])
    t.not(code, 0)
    t.match(stderr, /undefined function sprintf/)
    writeFileSync(join(place, 'x.rego'), 'package x\n\nr := $"{input.n}"\n')
    t.match(await run(opa, ['check', ...capabilities, join(place, 'x.rego')]), {
      code: 1,
      stderr: /template/,
    })
  })

  t.test('what opa lets pass and does nothing is found', async (t) => {
    const folder = `.cache/rego-traps-${process.pid}`
    mkdirSync(`${projectRoot}${folder}/authz`, { recursive: true })
    t.teardown(() => rmSync(`${projectRoot}${folder}`, { recursive: true }))
    const planted = readFileSync(new URL('planted.rego.txt', import.meta.url), 'utf8')
    writeFileSync(`${projectRoot}${folder}/authz/planted.rego`, planted)
    const findings = await findTraps(opa, [`${folder}/authz/planted.rego`])
    t.match(
      findings.map(({ row, rule }) => `${row} ${rule}`),
      [
        /^1 the package has to be .*authz$/,
        /^3 a negated call is undefined/,
        /^5 test_here runs only in a file \*_test\.rego/,
        /^7 test_here runs only/,
        /^7 test_here exists twice/,
        /^1 it has no twin test planted_test\.rego/,
      ],
    )
  })
}

t.test('an opa of another version is refused, with the fix', async (t) => {
  await t.rejects(resolveOpa({ opaPath: process.execPath, print }), { message: /is not opa 1\.22\.0/ })
  await t.rejects(resolveOpa({ opaPath: '/nowhere/opa', print }), { message: /OPA_PATH names/ })
})

t.test('the image builds the same version of opa, from sources that Go checks', (t) => {
  const image = readFileSync(`${projectRoot}Dockerfile`, 'utf8')
  t.match(image, `go install github.com/open-policy-agent/opa@v${opaVersion}\n`)
  t.notMatch(image, /curl|wget|ADD http/)
  t.end()
})

t.test('an up-to-date bundle needs no opa', async () => {
  await ensureBundle({ production: true, opaPath: '/nowhere/opa', print })
  await ensureBundle({ production: false, opaPath: '/nowhere/opa', print })
})

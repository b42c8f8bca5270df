import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { catalogueText } from '../policy-engine/catalogue/catalogue.ts'
import {
  type Bundle,
  bundleName,
  policiesFolder,
  readBundle,
  sourcesRevision,
} from '../policy-engine/evaluate/bundle.ts'
import { openAccessEngine } from '../policy-engine/evaluate/engine.ts'
import { entrypoints } from '../policy-engine/evaluate/module.ts'
import { type OpaOptions, type Print, resolveOpa, run } from './opa.ts'
import { nativeCapabilities } from './opa-capabilities.ts'
import { lintRego } from './rego-lint.ts'
import { roleTable } from './role-table.ts'

const bundlePath = `${policiesFolder}${bundleName}`
const cataloguePath = `${policiesFolder}catalogue/data.json`
const capabilitiesPath = `${policiesFolder}capabilities/platform.json`
const roleTablePath = `${policiesFolder}cases/roles.md`
const capabilities = 'policies/capabilities/platform.json'
const testsApart = ['--ignore', '*_test.rego']

/** A check of the policies that failed; the message is what the tool said. */
export class PolicyCheckFailed extends Error {}

/**
 * Checks the sources and writes what is generated: catalogue, native built-ins, bundle, role table. The bundle
 * replaces the old one only after it was compiled, loaded and answered every golden case. Returns its revision.
 */
export async function buildPolicies(options: OpaOptions): Promise<string> {
  const opa = await resolveOpa(options)
  writeFileSync(capabilitiesPath, await nativeCapabilities(opa))
  writeFileSync(cataloguePath, catalogueText())
  await gates(opa)
  return replaceBundle(opa, options.print)
}

async function replaceBundle(opa: string, print: Print): Promise<string> {
  const built = `${bundlePath}.${process.pid}`
  try {
    await compile(opa, built)
    const engine = await openAccessEngine(built)
    writeFileSync(roleTablePath, roleTable(engine))
    renameSync(built, bundlePath)
    print(`policies ${engine.revision.slice(0, 12)} built`)
    return engine.revision
  } finally {
    rmSync(built, { force: true })
  }
}

/**
 * Checks format, types, lint, tests with coverage, and that everything generated is what is committed, the
 * bundle included. Changes nothing; throws `PolicyCheckFailed` at the first fault.
 */
export async function checkPolicies(options: OpaOptions): Promise<void> {
  const opa = await resolveOpa(options)
  same('catalogue/data.json', readFileSync(cataloguePath, 'utf8'), catalogueText())
  same('capabilities/platform.json', readFileSync(capabilitiesPath, 'utf8'), await nativeCapabilities(opa))
  await gates(opa)
  same('the bundle', contents(readBundle(bundlePath)), contents(await compiled(opa)))
  const engine = await openAccessEngine()
  same('cases/roles.md', readFileSync(roleTablePath, 'utf8'), roleTable(engine))
  options.print(`policies ${engine.revision.slice(0, 12)} checked`)
}

/**
 * Sees to it that the bundle is that of the sources. In development a stale one is built again, without the
 * checks; in production it is refused, because what runs there was checked elsewhere.
 */
export async function ensureBundle(options: OpaOptions & { production: boolean }): Promise<void> {
  if (isCurrent()) return
  if (options.production) throw new Error('the policy bundle was built from other sources: npm run policies')
  options.print('The policies changed; building them again')
  const opa = await resolveOpa(options)
  writeFileSync(cataloguePath, catalogueText())
  await replaceBundle(opa, options.print)
}

function isCurrent(): boolean {
  if (!existsSync(bundlePath) || readFileSync(cataloguePath, 'utf8') !== catalogueText()) return false
  return readBundle(bundlePath).revision === sourcesRevision(policiesFolder)
}

async function gates(opa: string): Promise<void> {
  const files = regoFiles()
  await passes(opa, ['fmt', '--list', '--fail', ...files])
  await passes(opa, ['check', '--strict', ...files])
  const schema = ['--schema', 'policies/schemas', '--capabilities', capabilities]
  await passes(opa, ['check', '--strict', ...schema, ...testsApart, 'policies/authz', 'policies/lib'])
  const findings = await lintRego(opa, files)
  if (findings.length > 0) {
    throw new PolicyCheckFailed(findings.map(({ file, row, rule }) => `${file}:${row} ${rule}`).join('\n'))
  }
  await tested(opa)
}

async function tested(opa: string): Promise<void> {
  const data = ['--timeout', '110s', 'policies/authz', 'policies/lib', ...dataFiles()]
  const { code, stderr } = await run(opa, ['test', '--coverage', '--threshold', '95', ...data])
  if (code === 0) return
  // With a threshold a failing test prints no name, and an empty run is no failure.
  await passes(opa, ['test', '--fail-on-empty', ...data])
  throw new PolicyCheckFailed(stderr)
}

// A prefix gives the files the place in `data` that their folder has in the bundle.
function dataFiles(): string[] {
  const cases = readdirSync(`${policiesFolder}cases`).filter((name) => name.endsWith('.json'))
  const files = cases
    .sort()
    .map((name) => `${name === 'slice.json' ? 'slice' : 'cases'}:policies/cases/${name}`)
  return ['policies/cases/cases_test.rego', 'catalogue:policies/catalogue/data.json', ...files]
}

async function compile(opa: string, output: string): Promise<void> {
  const revision = sourcesRevision(policiesFolder)
  const source = ['-b', 'policies', ...testsApart, '--prune-unused', '--capabilities', capabilities]
  await passes(opa, [
    'build',
    '-t',
    'wasm',
    ...entrypoints.flatMap((name) => ['-e', name]),
    ...source,
    '-r',
    revision,
    '-o',
    output,
  ])
}

async function compiled(opa: string): Promise<Bundle> {
  const output = `${bundlePath}.${process.pid}`
  try {
    await compile(opa, output)
    return readBundle(output)
  } finally {
    rmSync(output, { force: true })
  }
}

const contents = ({ wasm, data, revision }: Bundle) => ({ wasm: Buffer.from(wasm), data, revision })

async function passes(opa: string, args: string[]): Promise<void> {
  const { code, stdout, stderr } = await run(opa, args)
  if (code !== 0) throw new PolicyCheckFailed(`opa ${args[0]} failed:\n${stdout}${stderr}`)
}

function same(what: string, committed: unknown, generated: unknown): void {
  if (!isDeepStrictEqual(committed, generated)) {
    throw new PolicyCheckFailed(`${what} is not what the sources give: npm run policies`)
  }
}

function regoFiles(): string[] {
  return readdirSync(policiesFolder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.rego'))
    .map((name) => `policies/${name.replaceAll('\\', '/')}`)
    .sort()
}

if (import.meta.main) {
  const print = (line: string) => console.log(line)
  const asked = process.argv[2] === 'check' ? checkPolicies({ print }) : buildPolicies({ print })
  await asked.catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}

import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { catalogueText } from '../catalogue/catalogue.ts'
import { type Bundle, bundleName, policiesFolder, readBundle, sourcesRevision } from '../evaluate/bundle.ts'
import { openAccessEngine } from '../evaluate/engine.ts'
import { entrypoints } from '../evaluate/policy-instance.ts'
import { findReads, type Reads } from './attribute-reads.ts'
import { checkDenialCodes } from './denial-codes.ts'
import { type OpaOptions, type Print, resolveOpa, run } from './opa.ts'
import { nativeCapabilities } from './opa-capabilities.ts'
import { type Finding, findTraps } from './rego-traps.ts'
import { roleTable } from './role-table.ts'

const bundlePath = `${policiesFolder}${bundleName}`
const cataloguePath = `${policiesFolder}catalogue/data.json`
const capabilitiesPath = `${policiesFolder}capabilities/platform.json`
const roleTablePath = `${policiesFolder}cases/roles.md`
export const capabilities = 'policies/capabilities/platform.json'
const testsApart = ['--ignore', '*_test.rego']

/** A failed check of the policies; the message is the output of the tool. */
export class PolicyCheckFailed extends Error {}

/**
 * Checks the sources and writes the generated files: catalogue, what rules read, native built-ins, bundle, role table. The new bundle replaces the old one only after it was compiled, loaded, and passed every golden case. Returns its
 * revision.
 */
export async function buildPolicies(options: OpaOptions): Promise<string> {
  const opa = await resolveOpa(options)
  writeFileSync(capabilitiesPath, await nativeCapabilities(opa))
  writeFileSync(cataloguePath, catalogueText())
  writeTexts(await checkSources(opa))
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
 * Checks format, types, traps, tests with coverage, and that all generated files, the bundle included, are committed as
 * they are generated. Changes nothing. Throws `PolicyCheckFailed` at the first fault.
 */
export async function checkPolicies(options: OpaOptions): Promise<void> {
  const opa = await resolveOpa(options)
  assertSame('catalogue/data.json', readFileSync(cataloguePath, 'utf8'), catalogueText())
  assertSame(
    'capabilities/platform.json',
    readFileSync(capabilitiesPath, 'utf8'),
    await nativeCapabilities(opa),
  )
  for (const [name, text] of Object.entries(await checkSources(opa)))
    assertSame(name, readFileSync(policiesFolder + name, 'utf8'), text)
  assertSame('the bundle', contents(readBundle(bundlePath)), contents(await compileBundle(opa)))
  const engine = await openAccessEngine()
  assertSame('cases/roles.md', readFileSync(roleTablePath, 'utf8'), roleTable(engine))
  options.print(`policies ${engine.revision.slice(0, 12)} checked`)
}

/**
 * Makes sure that the bundle was built from the current sources. Development rebuilds an outdated bundle, without most
 * checks. Production refuses it, because only a checked bundle may run there.
 */
export async function ensureBundle(options: OpaOptions & { production: boolean }): Promise<void> {
  if (isCurrent()) return
  if (options.production) throw new Error('the policy bundle was built from other sources: npm run policies')
  options.print('The policies changed; building a new bundle')
  const opa = await resolveOpa(options)
  writeFileSync(cataloguePath, catalogueText())
  const { findings, ...reads } = await findReads(opa, regoFiles())
  refuse(findings)
  writeTexts(textsOf(reads))
  await replaceBundle(opa, options.print)
}

function isCurrent(): boolean {
  if (!existsSync(bundlePath) || readFileSync(cataloguePath, 'utf8') !== catalogueText()) return false
  return readBundle(bundlePath).revision === sourcesRevision(policiesFolder)
}

/** Returns the texts that say what rules read. */
async function checkSources(opa: string): Promise<Record<string, string>> {
  const files = regoFiles()
  await passes(opa, ['fmt', '--list', '--fail', ...files])
  await passes(opa, ['check', '--strict', ...files])
  const schema = ['--schema', 'policies/schemas', '--capabilities', capabilities]
  await passes(opa, ['check', '--strict', ...schema, ...testsApart, 'policies/authz', 'policies/lib'])
  const { findings, ...reads } = await findReads(opa, files)
  refuse([...(await findTraps(opa, files)), ...(await checkDenialCodes(opa, files)), ...findings])
  await runTests(opa)
  return textsOf(reads)
}

function refuse(findings: readonly Finding[]): void {
  if (findings.length > 0)
    throw new PolicyCheckFailed(findings.map(({ file, row, rule }) => `${file}:${row} ${rule}`).join('\n'))
}

/** The generated files that say what rules read, by their paths in `policies`. */
export const textsOf = ({ attributes, looking }: Reads): Record<string, string> => ({
  'attributes/data.json': `${JSON.stringify(attributes, null, 2)}\n`,
  'rules/data.json': `${JSON.stringify({ look_at_resource: looking })}\n`,
})

function writeTexts(texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts)) writeFileSync(policiesFolder + name, text)
}

async function runTests(opa: string): Promise<void> {
  const data = ['--timeout', '110s', 'policies/authz', 'policies/lib', ...dataFiles()]
  // Without supplementary runs, which say why a line is not covered and take as long as the tests.
  const coverage = ['--coverage', '--coverage-runs', '', '--threshold', '95']
  const { code, stderr } = await run(opa, ['test', ...coverage, ...data])
  if (code === 0) return
  // With a threshold opa does not name failing tests, and does not fail without tests. So run it again without.
  await passes(opa, ['test', '--fail-on-empty', '--var-values', ...data])
  throw new PolicyCheckFailed(stderr)
}

/** What the tests of other rules can use: the library, the catalogue and the golden cases. */
export const testData = (): string[] => ['policies/lib', ...dataFiles().slice(1)]

// The prefix puts the content of a file at the path in `data` that its folder has in the bundle.
function dataFiles(): string[] {
  const cases = readdirSync(`${policiesFolder}cases`).filter((name) => name.endsWith('.json'))
  const files = cases
    .sort()
    .map((name) => `${name === 'slice.json' ? 'slice' : 'cases'}:policies/cases/${name}`)
  return ['policies/cases/cases_test.rego', 'catalogue:policies/catalogue/data.json', ...files]
}

async function compile(opa: string, output: string): Promise<void> {
  await passes(opa, buildArguments(sourcesRevision(policiesFolder), output))
}

/** The arguments with which `opa` builds the folder `policies` below the current one. */
export const buildArguments = (revision: string, output: string): string[] => [
  'build',
  '-t',
  'wasm',
  ...entrypoints.flatMap((name) => ['-e', name]),
  ...['-b', 'policies', ...testsApart, '--prune-unused', '--capabilities', capabilities],
  ...['-r', revision, '-o', output],
]

async function compileBundle(opa: string): Promise<Bundle> {
  const output = `${bundlePath}.${process.pid}`
  try {
    await compile(opa, output)
    return readBundle(output)
  } finally {
    rmSync(output, { force: true })
  }
}

const contents = ({ wasm, data, revision }: Bundle) => ({ wasm: Buffer.from(wasm), data, revision })

/** Runs `opa`, from the root of the project or `cwd`. Throws {@link PolicyCheckFailed} with its output if it fails. */
export async function passes(opa: string, args: string[], cwd?: string): Promise<void> {
  const { code, stdout, stderr } = await run(opa, args, undefined, cwd)
  if (code === 0) return
  const [, missing] = /undefined function ([\w.]+)/.exec(stderr) ?? []
  const hint = missing
    ? `\n${missing} is not in ${capabilities}, the list of built-ins that the WASM module has without help of the host. Compute it in src/policy-engine/evaluate/attributes.ts and read it as an attribute.`
    : ''
  throw new PolicyCheckFailed(`opa ${args[0]} failed:\n${stdout}${stderr}${hint}`)
}

function assertSame(what: string, committed: unknown, generated: unknown): void {
  if (!isDeepStrictEqual(committed, generated)) {
    throw new PolicyCheckFailed(`${what} differs from what the sources generate: npm run policies`)
  }
}

function regoFiles(): string[] {
  return readdirSync(policiesFolder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.rego'))
    .map((name) => `policies/${name.replaceAll('\\', '/')}`)
    .sort()
}

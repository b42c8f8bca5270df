import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { policiesFolder, type ReadAttributes, type RuleReads, sourcesRevision } from '../evaluate/bundle.ts'
import { type AccessEngine, openAccessEngine } from '../evaluate/engine.ts'
import { readInstallationRules, ruleFiles, ruleTests } from './installation-rules.ts'
import { type OpaOptions, resolveOpa, run } from './opa.ts'
import { buildArguments, capabilities, PolicyCheckFailed, passes, testData, textsOf } from './policies.ts'

type Options = OpaOptions & { folder: string }

/**
 * Builds the service's policies together with the rules of a folder (POLICIES_DIR), and opens them. Nothing is written
 * but a temporary folder. Throws if a rule is refused or does not compile, or if the result gives a golden case anything
 * but its answer or a denial of these rules.
 */
export async function openInstallationEngine({ folder, ...options }: Options): Promise<AccessEngine> {
  const opa = await resolveOpa(options)
  const { files, collector, attributes, looking } = await readInstallationRules(opa, folder)
  const root = mkdtempSync(join(tmpdir(), 'bailiwick-policies-'))
  try {
    const policies = join(root, 'policies')
    cpSync(policiesFolder, policies, { recursive: true })
    writeFileSync(join(policies, 'authz/platform/platform.rego'), collector)
    const known = <T>(name: string): T => JSON.parse(readFileSync(join(policies, name), 'utf8'))
    const reads = {
      attributes: { ...known<ReadAttributes>('attributes/data.json'), ...attributes },
      looking: [...known<RuleReads>('rules/data.json').look_at_resource, ...looking],
    }
    for (const [name, text] of Object.entries(textsOf(reads))) writeFileSync(join(policies, name), text)
    const target = join(policies, 'authz/platform/installed')
    mkdirSync(target)
    // By number: two files of different folders can have one name.
    for (const [index, file] of files.entries()) copyFileSync(file, join(target, `${index}.rego`))
    const strict = ['check', '--strict', '--capabilities', capabilities]
    await passes(opa, [...strict, '--ignore', '*_test.rego', 'policies/authz', 'policies/lib'], root)
    const bundle = join(root, 'bundle.tar.gz')
    await passes(opa, buildArguments(sourcesRevision(policies), bundle), root)
    return await openAccessEngine(bundle, policies, true)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Checks format, types and tests of the rules of a folder, and opens them. Throws {@link PolicyCheckFailed}. */
export async function checkInstallationRules(options: Options): Promise<AccessEngine> {
  const opa = await resolveOpa(options)
  const [files, tests] = [ruleFiles(options.folder), ruleTests(options.folder)]
  if (files.length === 0) throw new PolicyCheckFailed(`${options.folder} has no rules`)
  await passes(opa, ['fmt', '--list', '--fail', ...files, ...tests])
  const engine = await openInstallationEngine(options)
  if (tests.length === 0) return engine
  const { code, stdout, stderr } = await run(opa, ['test', ...files, ...tests, ...testData()])
  if (code !== 0) throw new PolicyCheckFailed(`opa test failed:\n${stdout}${stderr}`)
  return engine
}

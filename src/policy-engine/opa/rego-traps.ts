import { basename, dirname } from 'node:path'
import {
  type Module,
  type Node,
  negatedCall,
  negatedCalls,
  parseRego,
  type Rule,
  ruleName,
} from './rego-tree.ts'

/** A trap of Rego, or of this project, that `opa check --strict` and `opa fmt` let pass. */
export interface Finding {
  file: string
  row: number
  rule: string
}

/**
 * Looks for traps in Rego files (paths from the root of the project). Each makes a rule or a test silently do nothing:
 * a negated call, a file in a package that nothing reads, two tests with one name, a rule without a twin test. Throws
 * if a file cannot be parsed.
 */
export async function findTraps(opa: string, files: readonly string[]): Promise<Finding[]> {
  const known = new Set(files)
  const found = await Promise.all(
    files.map(async (file) => {
      const module = await parseRego(opa, file)
      return [...trapsOfPackage(module, file), ...trapsOfRules(module.rules ?? [], file, known)]
    }),
  )
  return found.flat()
}

const isTest = (file: string) => file.endsWith('_test.rego')

/** The package is the folder, for tests with `_test`. */
function trapsOfPackage({ package: { path, location } }: Module, file: string): Finding[] {
  const named = path.map(({ value }) => value).slice(1)
  const folder = dirname(file).split('/').slice(1).join('.')
  const expected = isTest(file) ? `${folder}_test` : folder
  if (named.join('.') === expected) return []
  return [{ file, row: location.row, rule: `the package has to be ${expected}` }]
}

function trapsOfRules(rules: readonly Rule[], file: string, files: ReadonlySet<string>): Finding[] {
  const found: Finding[] = []
  const report = ({ location }: Node, rule: string) => found.push({ file, row: location?.row ?? 0, rule })
  const tests = new Set<string>()
  for (const rule of rules) {
    const name = ruleName(rule)
    if (name.startsWith('test_') && !isTest(file)) report(rule, `${name} runs only in a file *_test.rego`)
    if (name.startsWith('test_') && tests.has(name))
      report(rule, `${name} exists twice: one test passes if either does`)
    tests.add(name)
    // With an undefined argument a negated call is undefined too, so a denial that uses it would silently not apply.
    if (!isTest(file)) for (const call of negatedCalls(rule)) report(call, negatedCall)
  }
  const twin = file.replace(/\.rego$/, '_test.rego')
  if (!isTest(file) && rules.length > 0 && !files.has(twin))
    found.push({ file, row: 1, rule: `it has no twin test ${basename(twin)}` })
  return found
}

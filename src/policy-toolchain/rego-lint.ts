import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { projectRoot, run } from './opa.ts'

/** A violation of a rule that `opa check --strict` and `opa fmt` do not check. */
export interface Finding {
  file: string
  row: number
  rule: string
}

interface Node {
  location?: { row: number; text: string }
  type?: string
  value?: unknown
  negated?: boolean
  terms?: unknown
  symbols?: unknown
}

interface Rule extends Node {
  default?: boolean
  head: Node & { name?: string; key?: Node; ref: Node[]; args?: Node[] }
  body?: Node[]
}

export interface Module {
  package: { path: { value: string }[]; location: { row: number } }
  imports?: { path: Node & { value: Node[] }; location: { row: number } }[]
  rules?: Rule[]
}

type Report = (node: { location?: { row: number } } | number, rule: string) => void

/** Lints Rego files (paths from the root of the project). Throws if a file cannot be parsed. */
export async function lintRego(opa: string, files: readonly string[]): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const file of files) {
    const report: Report = (at, rule) =>
      findings.push({ file, row: typeof at === 'number' ? at : (at.location?.row ?? 0), rule })
    lintText(readFileSync(`${projectRoot}${file}`, 'utf8').split('\n'), report)
    lintModule(await parseRego(opa, file), file, report)
  }
  return findings
}

/** The syntax tree of a Rego file (path from the project's root). Throws what `opa parse` says of a malformed one. */
export async function parseRego(opa: string, file: string): Promise<Module> {
  const { code, stdout, stderr } = await run(opa, [
    'parse',
    '-f',
    'json',
    '--json-include',
    'locations',
    file,
  ])
  if (code !== 0) throw new Error(`${file}: ${stderr}`)
  return JSON.parse(stdout)
}

function lintText(lines: string[], report: Report): void {
  lines.forEach((line, index) => {
    if (line.length > 120) report(index + 1, 'line-length')
    if (/#.*\b(todo|fixme)\b/i.test(line)) report(index + 1, 'todo-comment')
    if (/^(?!_|default |test_)[a-z]\w* (:=|if|contains)/.test(line) && !documented(lines, index)) {
      report(index + 1, 'public-rule-without-metadata')
    }
  })
}

// Only the first definition of a public rule needs the annotation. `denials` needs none: its comments are in each file.
function documented(lines: string[], index: number): boolean {
  const name = lines[index]?.match(/^\w+/)?.[0]
  if (name === 'denials') return true
  if (lines.slice(0, index).some((line) => line.startsWith(`${name} `))) return true
  for (let at = index - 1; lines[at]?.startsWith('#'); at--) if (lines[at] === '# METADATA') return true
  return false
}

function lintModule(module: Module, file: string, report: Report): void {
  const tests = file.endsWith('_test.rego')
  const packageName = module.package.path.slice(1).map(({ value }) => value)
  const directory = dirname(file).split('/').slice(1).join('.')
  if (packageName.join('.').replace(/_test$/, '') !== directory)
    report(module.package, 'directory-package-mismatch')
  if (tests !== packageName.join('.').endsWith('_test')) report(module.package, 'test-package-suffix')
  for (const { path, location } of module.imports ?? []) {
    if (path.value[0]?.value === 'input') report({ location }, 'import-of-input')
  }
  lintTests(module.rules ?? [], tests, report)
  for (const rule of module.rules ?? []) {
    lintRule(rule, report)
    if (!tests) walk(rule, (node) => lintNode(node, report))
  }
}

function lintTests(rules: Rule[], tests: boolean, report: Report): void {
  const seen = new Set<unknown>()
  for (const rule of rules) {
    const name = rule.head.ref[0]?.value as string
    if (name.startsWith('test_') !== (tests && !name.startsWith('_'))) report(rule, 'test-outside-of-tests')
    if (name.startsWith('test_') && seen.has(name)) report(rule, 'identically-named-test')
    seen.add(name)
  }
}

function lintRule(rule: Rule, report: Report): void {
  const text = Buffer.from(rule.location?.text ?? '', 'base64').toString('utf8')
  if (text.split('\n').length > 30) report(rule, 'rule-length')
  if (!/^_?[a-z][a-z0-9_]*$/.test(String(rule.head.ref[0]?.value))) report(rule, 'prefer-snake-case')
}

const banned =
  /^(sprintf|regex\.split|yaml\.|time\.|http\.|crypto\.|io\.jwt|opa\.runtime|trace|print|rand\.|uuid\.)/

function lintNode(node: Node, report: Report): void {
  const call = calledName(node)
  if (call !== undefined && banned.test(call)) report(node, 'banned-call')
  if (call?.startsWith('regex.') && sourceOf(node).includes('"')) report(node, 'non-raw-regex-pattern')
  // With an undefined argument a negated call is undefined too, so a denial that uses it would silently not apply.
  if (node.negated && Array.isArray(node.terms)) report(node, 'negated-call')
  if (call === 'internal.member_2' && /\bin data\b/.test(sourceOf(node))) report(node, 'iteration-over-data')
  if (node.type === 'templatestring') report(node, 'string-interpolation')
}

function calledName(node: Node): string | undefined {
  const call = node.type === 'call' ? node.value : node.terms
  const operator = Array.isArray(call) ? (call[0] as Node) : undefined
  if (operator?.type !== 'ref') return undefined
  return (operator.value as Node[]).map(({ value }) => value).join('.')
}

const sourceOf = (node: Node) => Buffer.from(node.location?.text ?? '', 'base64').toString('utf8')

function walk(node: unknown, visit: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) visit(node as Node)
  for (const child of Object.values(node)) walk(child, visit)
}

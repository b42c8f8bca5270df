import { type Module, type Node, type Rule, ruleName } from './rego-tree.ts'

/** A fault in a module of a tenant; the line and column begin at 1. */
export interface ModuleFault {
  line: number
  column: number
  detail: string
  /** why it is refused, if that is not its Rego */
  code?: 'rego' | 'too_costly' | 'too_large'
}

/** What a module reads: attributes, each with whether the module needs it, and patterns. */
export interface ModuleReads {
  attributes: Record<string, 'needed' | 'optional'>
  patterns: string[]
}

export type Inspected = ModuleReads | { faults: ModuleFault[] }

export type FindingRule = 'allow' | 'deny'

/** The package of every module of a tenant. */
export const modulePackage = 'policy'

/** The most bytes of a module. */
export const maxModuleBytes = 64 * 1024
// Each level of nested comprehensions makes the compiler 2.6 times slower.
const maxDepth = 10

/** What can be said of the text itself, before any compiler reads it. */
export function textFault(text: string): ModuleFault | undefined {
  const bytes = Buffer.byteLength(text)
  if (bytes > maxModuleBytes)
    return fault(1, 1, `A module can have at most 64 KiB; this one has ${bytes} bytes.`)
  if (!text.isWellFormed() || text.includes('\0')) return fault(1, 1, 'A module is UTF-8 text without NUL.')
  return annotationFault(text) ?? depthFault(text)
}

/**
 * OPA reads the schemas that an annotation names, from the network and from files of the machine, and its messages quote
 * them. No annotation reaches it: not a comment that could be one, wherever it stands.
 */
function annotationFault(text: string): ModuleFault | undefined {
  const line = text.split('\n').findIndex((line) => /#.*METADATA/su.test(line))
  return line < 0 ? undefined : fault(line + 1, 1, 'A module has no annotations: leave out "# METADATA".')
}

const fault = (line: number, column: number, detail: string): ModuleFault => ({ line, column, detail })

/** Counts brackets outside of texts and comments. */
function depthFault(text: string): ModuleFault | undefined {
  let [depth, line, lineStart] = [0, 1, 0]
  const token = /"(?:[^"\\\n]|\\.)*"?|`[^`]*`?|#[^\n]*|[[\](){}]|\n/g
  for (const { 0: found, index } of text.matchAll(token)) {
    if ('([{'.includes(found)) depth++
    else if (')]}'.includes(found)) depth--
    if (depth > maxDepth)
      return fault(line, index - lineStart + 1, `Brackets can be nested ${maxDepth} deep at most.`)
    for (let at = found.indexOf('\n'); at >= 0; at = found.indexOf('\n', at + 1)) {
      line++
      lineStart = index + at + 1
    }
  }
  return undefined
}

/**
 * Checks that a module keeps to its sandbox, and collects what it reads: one package, the rule of its effect, no `with`, no
 * import, no `data`, and of `input` only attributes named in full. `object.get(input.resource, "key", …)` reads an
 * attribute that can be missing; any other read needs the attribute.
 */
export function inspectModule(module: Module, rule: FindingRule): Inspected {
  const faults: ModuleFault[] = []
  const report = (node: Pick<Node, 'location'>, detail: string) =>
    faults.push(fault(node.location?.row ?? 1, node.location?.col || 1, detail))
  const path = module.package.path.slice(1).map(({ value }) => value)
  if (path.join('.') !== modulePackage)
    report({}, `The package of a module is ${modulePackage}: write "package ${modulePackage}".`)
  for (const { location } of module.imports ?? [])
    report({ location: { ...location, text: '' } }, 'A module imports nothing.')
  checkRules(module.rules ?? [], rule, report)
  const reads: ModuleReads = { attributes: {}, patterns: [] }
  if (!collect(module.rules ?? [], reads, report)) faults.unshift(tooDeep)
  return faults.length > 0 ? { faults } : { ...reads, patterns: [...new Set(reads.patterns)] }
}

type Report = (node: Pick<Node, 'location'>, detail: string) => void

function checkRules(rules: readonly Rule[], name: FindingRule, report: Report): void {
  const other = name === 'deny' ? 'allow' : 'deny'
  let found = false
  for (const rule of rules) {
    const { key, ref } = rule.head
    if (ruleName(rule) === other)
      report(rule, `A policy has one effect, here ${name}: write ${other} in a policy of its own.`)
    if (ruleName(rule) !== name) continue
    found = true
    if (!key || ref.length > 1 || rule.default)
      report(rule, `${name} is a set of sentences: write "${name} contains … if".`)
  }
  if (!found) report({}, `A module with the effect ${name} has the rule "${name} contains … if".`)
}

const categories = ['subject', 'resource', 'action', 'environment']

// Levels of the tree: a sum of numbers has four for each of them.
const maxTreeDepth = 2_000

const tooDeep: ModuleFault = {
  ...fault(1, 1, 'This is nested too deeply: name parts of it in rules of their own.'),
  code: 'too_costly',
}

/** Walks the tree. A name is read as a whole, so that `input` never stands alone. False if the tree is too deep. */
function collect(node: unknown, reads: ModuleReads, report: Report, depth = 0): boolean {
  if (typeof node !== 'object' || node === null) return true
  if (depth > maxTreeDepth) return false
  const all = (nodes: unknown[]) => nodes.every((each) => collect(each, reads, report, depth + 1))
  if (Array.isArray(node)) {
    const isWalked = all(readOptional(node, reads) ? node.slice(3) : node)
    notePattern(node, reads, report)
    return isWalked
  }
  const { type, value } = node as Node
  if ('with' in node) report(node as Node, 'A module does not use "with".')
  if (type === 'var' && (value === 'input' || value === 'data')) report(node as Node, alone(String(value)))
  if (type === 'ref' && Array.isArray(value) && isRoot(value[0])) {
    readRef(node as Node, value as Node[], reads, report)
    return all(value.slice(1))
  }
  return all(Object.values(node))
}

const alone = (root: string) =>
  root === 'data'
    ? 'A module reads no data: there is only input, and its own rules by their names.'
    : 'Name the attribute in full, such as input.resource.owner_id.'

const isRoot = (node: Node | undefined) =>
  node?.type === 'var' && (node.value === 'input' || node.value === 'data')

function readRef(node: Node, [root, category, key]: Node[], reads: ModuleReads, report: Report): void {
  const name = attributeIn(category, key)
  if (root?.value === 'data' || name === undefined) report(node, alone(String(root?.value)))
  else reads.attributes[name] = 'needed'
}

function attributeIn(category: Node | undefined, key: Node | undefined): string | undefined {
  if (category?.type !== 'string' || key?.type !== 'string') return undefined
  return categories.includes(String(category.value)) ? `${category.value}.${key.value}` : undefined
}

/** `object.get(input.resource, "key", fallback)`, as the list of its terms. */
function readOptional([operator, from, key]: Node[], reads: ModuleReads): boolean {
  if (callOf(operator) !== 'object.get' || from?.type !== 'ref' || !Array.isArray(from.value)) return false
  const [root, category, ...more] = from.value as Node[]
  const name = isRoot(root) && root?.value === 'input' && more.length === 0 && attributeIn(category, key)
  if (!name) return false
  reads.attributes[name] ??= 'optional'
  return true
}

function notePattern([operator, pattern]: Node[], reads: ModuleReads, report: Report): void {
  if (callOf(operator) !== 'regex.match') return
  if (pattern?.type === 'string') reads.patterns.push(String(pattern.value))
  else report(operator!, 'Write the pattern of regex.match as a text, because its cost is measured.')
}

function callOf(operator: Node | undefined): string | undefined {
  if (operator?.type !== 'ref' || !Array.isArray(operator.value)) return undefined
  return (operator.value as Node[]).map(({ value }) => value).join('.')
}

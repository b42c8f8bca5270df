import { readdirSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { typesOf } from '../catalogue/built-in-attributes.ts'
import { allOfInput, attributeOf, looksAtResource, noSuchAttribute, type Reads } from './attribute-reads.ts'
import {
  type Module,
  type Node,
  negatedCall,
  negatedCalls,
  parseRego,
  type Ref,
  type Rule,
  refsIn,
  ruleName,
} from './rego-tree.ts'

/** A rule in POLICIES_DIR breaks what such rules have to keep to. The message names each file and line. */
export class InstallationRulesRefused extends Error {}

/** The rules of a folder, what they read, and the package that collects them. */
export interface InstallationRules extends Reads {
  files: readonly string[]
  /** Rego for `policies/authz/platform/platform.rego` */
  collector: string
}

const outputs = ['deny', 'obligations'] as const
type Output = (typeof outputs)[number]

/** The Rego files of a folder, tests excluded, as absolute paths in order. */
export const ruleFiles = (folder: string): string[] => regoFiles(folder).filter((file) => !isTest(file))

/** The tests of a folder, as absolute paths in order. */
export const ruleTests = (folder: string): string[] => regoFiles(folder).filter(isTest)

const isTest = (file: string) => file.endsWith('_test.rego')

const regoFiles = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.rego'))
    .map((name) => resolve(folder, name))
    .sort()

/**
 * Reads the rules of a folder. Each file is of a package `authz.platform.<name>`, gives only the sets `deny` (sentences)
 * and `obligations`, and reads only `input`, `data.lib`, `data.catalogue` and its own package. So the rules can only take
 * away: nothing else of them is ever read. Throws {@link InstallationRulesRefused} with every fault.
 */
export async function readInstallationRules(opa: string, folder: string): Promise<InstallationRules> {
  const files = ruleFiles(folder)
  const faults: string[] = []
  const given = new Map<string, Set<Output>>()
  const attributes: string[] = []
  const looking = new Set<string>()
  for (const file of files) {
    const module = await parseRego(opa, file)
    const report = ({ location }: Pick<Node, 'location'>, fault: string) =>
      faults.push(`${relative(folder, file).replaceAll(sep, '/')}:${location?.row ?? 1} ${fault}`)
    const name = nameIn(module, report)
    const found = given.get(name) ?? new Set<Output>()
    given.set(name, found)
    for (const rule of module.rules ?? []) checkRule(rule, found, report)
    for (const ref of refsIn([module.imports, module.rules])) {
      checkRef(ref, name, report)
      if (looksAtResource(ref)) looking.add(name)
      const attribute = attributeOf(ref)
      if (attribute) attributes.push(attribute)
    }
  }
  if (faults.length > 0) throw new InstallationRulesRefused(faults.join('\n'))
  const collector = collectorOf(given, looking.size > 0)
  return { files, attributes: typesOf(attributes), looking: [...looking].sort(), collector }
}

type Report = (node: Pick<Node, 'location'>, fault: string) => void

function nameIn({ package: { path } }: Module, report: Report): string {
  const [, authz, platform, name = '', ...more] = path.map(({ value }) => value)
  const isRight = authz === 'authz' && platform === 'platform' && more.length === 0
  if (!isRight || !/^[a-z][a-z0-9_]{0,62}$/.test(name))
    report({}, 'the package has to be authz.platform.<name>, the name of a-z, 0-9 and _')
  return name
}

function checkRule(rule: Rule, found: Set<Output>, report: Report): void {
  const name = ruleName(rule)
  for (const call of negatedCalls(rule)) report(call, negatedCall)
  if (name.startsWith('_')) return
  const output = outputs.find((each) => each === name)
  if (!output) {
    report(rule, `${name}: a rule is deny, obligations, or begins with _`)
    return
  }
  const { key, ref } = rule.head
  if (!key || ref.length > 1 || rule.default) report(rule, `${name} is a set: write "${name} contains … if"`)
  found.add(output)
}

function checkRef(ref: Ref, name: string, report: Report): void {
  const [first, second, third] = ref.path
  if (ref.root === 'data') {
    const isOwn = first === 'authz' && second === 'platform' && third === name
    if (!isOwn && first !== 'lib' && first !== 'catalogue')
      report(ref.node, 'a rule reads only input, data.lib, data.catalogue and its own package')
    return
  }
  if (first === undefined || first === null) report(ref.node, allOfInput)
  if (first === 'attrs' && attributeOf(ref) === undefined) report(ref.node, noSuchAttribute)
}

function collectorOf(given: ReadonlyMap<string, ReadonlySet<Output>>, looks: boolean): string {
  const naming = (output: Output) => [...given].filter(([, found]) => found.has(output)).map(([name]) => name)
  const denying = naming('deny').map(
    (name) =>
      `_denied contains ["${name}", _sentence(message)] if some message in data.authz.platform.${name}.deny`,
  )
  const demanding = naming('obligations').map(
    (name) => `_demanded contains demand if some demand in data.authz.platform.${name}.obligations`,
  )
  return `package authz.platform

looks_at_resource := ${looks}

denials := [{"code": "platform_rule", "layer": "invariant", "rule": name, "message": message} |
	some [name, message] in _denied
]

demands := [{"obligations": [demand]} | some demand in _demanded]

_denied contains ["", ""] if false

_demanded contains "" if false

# A denial with anything but a sentence is a denial, too.
_sentence(message) := substring(message, 0, 300) if {
	is_string(message)
	message != ""
} else := "A rule of this installation forbids this."

${[...denying, ...demanding].join('\n\n')}
`
}

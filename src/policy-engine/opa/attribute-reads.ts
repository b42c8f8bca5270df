import { basename } from 'node:path'
import { builtInAttributes, typesOf } from '../catalogue/built-in-attributes.ts'
import type { ReadAttributes } from '../evaluate/bundle.ts'
import type { Finding } from './rego-traps.ts'
import { parseRego, type Ref, refsIn } from './rego-tree.ts'

const ofResource = ['resource.type', 'resource.id', 'resource.owner_id']

/**
 * The built-in attribute that `input.attrs["…"]` names; undefined for any other name. The fields of a resource are none,
 * because they are not in the decision log: a recorded decision could not be replayed.
 */
export function attributeOf({ root, path: [first, name] }: Ref): string | undefined {
  if (root !== 'input' || first !== 'attrs' || !name || !builtInAttributes.has(name)) return undefined
  return !name.startsWith('resource.') || ofResource.includes(name) ? name : undefined
}

/** What is wrong with another read of `input.attrs`. It would be undefined, and its rule would never apply. */
export const noSuchAttribute = `input.attrs["…"] has to name a built-in attribute, of resources only ${ofResource.join(', ')}`

/** What is wrong with a read of all of `input`: what it reads cannot be seen. */
export const allOfInput = 'name the part of input that you read'

// These apply the conditions of tenants' policies, or answer for a query that has nothing.
const readsAll = /^policies\/authz\/(abac\/\w+|explain|decision|invariants\/incomplete_input)\.rego$/

/** Whether it reads more of a resource than its type. */
export function looksAtResource({ root, path: [first, second] }: Ref): boolean {
  if (root !== 'input') return false
  if (first === 'attrs') return second?.startsWith('resource.') === true && second !== 'resource.type'
  return first === 'resource' && second !== 'type'
}

// For actions of an application, these decide the same about all resources that are not registered.
const looksForTheService =
  /^policies\/authz\/(rbac\/rbac|approval\/approval|invariants\/(isolation|token_kind))\.rego$/

/** What rules read of a query. */
export interface Reads {
  attributes: ReadAttributes
  /** the names of the files, or packages, that look at the resource */
  looking: readonly string[]
}

/**
 * What the rules in these files (paths from the project's root) read, so that the host supplies the attributes and makes no
 * plan without the resource; and what is wrong with other reads. Files of tests are passed over.
 */
export async function findReads(
  opa: string,
  files: readonly string[],
): Promise<Reads & { findings: Finding[] }> {
  const findings: Finding[] = []
  const names: string[] = []
  const looking = new Set<string>()
  const rules = files.filter((file) => !file.endsWith('_test.rego') && !readsAll.test(file))
  const read = await Promise.all(rules.map(async (file) => ({ file, module: await parseRego(opa, file) })))
  for (const { file, module } of read)
    for (const ref of refsIn([module.imports, module.rules])) {
      if (looksAtResource(ref) && !looksForTheService.test(file)) looking.add(basename(file, '.rego'))
      const report = (rule: string) => findings.push({ file, row: ref.node.location?.row ?? 1, rule })
      if (ref.root !== 'input') continue
      const [first] = ref.path
      if (first === undefined || first === null) report(allOfInput)
      if (first !== 'attrs') continue
      const name = attributeOf(ref)
      if (name) names.push(name)
      else report(noSuchAttribute)
    }
  return { attributes: typesOf(names), looking: [...looking].sort(), findings }
}

import type { DefinitionRow } from '../../authorization/attributes/store.ts'
import type { StoredModule } from '../../authorization/policies/active-store.ts'
import { compileBody, type PatternCost } from '../../authorization/policies/compile-body.ts'
import type { PolicySchema } from '../../authorization/policies/policy-schema.ts'
import { sizeFault } from '../../authorization/policies/slice-limits.ts'
import type { NewPolicy } from '../../authorization/policies/store.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { SlicePolicy } from '../../policy-engine/compile/compiled-policy.ts'
import { roleNameKey } from '../../tenancy/roles/store.ts'
import { faultsOfNames, faultsOfPolicyNames } from './check-names.ts'
import { type ManifestModule, policyFaults, toManifest } from './manifest-modules.ts'
import type { Manifest } from './manifest-schema.ts'
import { faultAt, type ManifestFault } from './read-manifest.ts'

/** A role that every tenant gets. */
export interface ManagedRole {
  key: string
  name: string
  description: string
  permissions: string[]
}

/** An attribute that every tenant gets. */
export type ManagedDefinition = Pick<
  DefinitionRow,
  'category' | 'key' | 'display_name' | 'data_type' | 'allowed_values' | 'is_required' | 'description'
> &
  Partial<Pick<DefinitionRow, 'source'>>

/** A policy that every tenant gets. Where a tenant has the ids of its roles, this has their names (`roleNameKey`). */
export type ManagedPolicy = Pick<NewPolicy, 'fields' | 'rules' | 'compiled'> & {
  key: string
  optional: boolean
  /** of the kind rego only */
  module?: ManifestModule
}

/** A webhook that every tenant gets. */
export interface ManagedWebhook {
  key: string
  url: string
  description: string
  event_types: string[]
}

/** What a manifest gives every tenant. */
export interface CompiledManifest {
  roles: ManagedRole[]
  attributes: ManagedDefinition[]
  policies: ManagedPolicy[]
  webhooks: ManagedWebhook[]
}

/** A manifest that is applied already. */
export interface AppliedManifest {
  application: string
  version: number
  document: Manifest
  compiled: CompiledManifest
}

/**
 * Compiles a manifest; `others` are those of other applications, whose names it must not take, and `modules` its compiled
 * modules by the key of their policy. A policy of the kind rego without one is left out: it has faults. Returns all faults,
 * each with its position in `text`.
 */
export function compileManifest(
  manifest: Manifest,
  others: readonly AppliedManifest[],
  text: string,
  patternCostUs: PatternCost | undefined,
  modules: ReadonlyMap<string, StoredModule>,
): { compiled: CompiledManifest } | { faults: ManifestFault[] } {
  const faults = [...faultsOfNames(manifest, others), ...faultsOfPolicyNames(manifest)].map((fault) =>
    faultAt(text, fault),
  )
  const attributes = Object.entries(manifest.attributes).map(([name, body]) => definitionOf(name, body))
  const schema = schemaOf(manifest, attributes)
  const policies: ManagedPolicy[] = []
  const active = others.flatMap(({ compiled }) => compiled.policies).map(inSlice)
  for (const [key, { optional, ...body }] of Object.entries(manifest.policies)) {
    const pointer = `/policies/${key}`
    const { kind = 'json' } = body
    const module = modules.get(key) ?? null
    if (kind === 'rego' && !module) continue
    try {
      const { fields, rules, compiled } = compileBody(
        { ...body, kind },
        schema,
        patternCostUs,
        () => text,
        pointer,
        module,
      )
      const policy = { key, optional, fields, rules, compiled, ...(module && { module: toManifest(module) }) }
      const fault = sizeFault('', inSlice(policy, active.length), active)
      if (fault) faults.push(faultAt(text, { ...fault, pointer: `${pointer}${fault.pointer}` }))
      active.push(inSlice(policy, active.length))
      policies.push(policy)
    } catch (error) {
      faults.push(...policyFaults(error, pointer, text))
    }
  }
  if (faults.length > 0) return { faults }
  const roles = Object.entries(manifest.roles).map(([key, role]) => ({ key, ...role }))
  const webhooks = Object.entries(manifest.webhooks).map(([key, webhook]) => ({ key, ...webhook }))
  return { compiled: { roles, attributes, policies, webhooks } }
}

function definitionOf(name: string, body: Manifest['attributes'][string]): ManagedDefinition {
  const [category = '', key = ''] = name.split('.')
  const { display_name = key, ...rest } = body
  return { category: category as ManagedDefinition['category'], key, display_name, ...rest }
}

/** The roles and attributes that the policies of a manifest can name: those that every tenant has. */
const schemaOf = (manifest: Manifest, attributes: readonly ManagedDefinition[]): PolicySchema => ({
  revision: 0,
  roles: [...systemRoles, ...Object.values(manifest.roles).map(({ name }) => name)].map((name) => ({
    id: roleNameKey(name),
    name,
  })),
  attributes: new Map([
    ...builtInAttributes,
    ...attributes.map(({ category, key, data_type }) => [`${category}.${key}`, { type: data_type }] as const),
  ]),
})

/** A policy in the slices of a tenant that turns every optional policy on. */
const inSlice = ({ fields, compiled }: ManagedPolicy, index: number): SlicePolicy & { bytes: number } => ({
  id: String(index),
  version: 1,
  name: fields.name,
  priority: fields.priority,
  compiled,
  bytes: JSON.stringify(compiled).length,
})

import type { DefinitionRow } from '../../authorization/attributes/store.ts'
import { compileBody, type PatternCost } from '../../authorization/policies/compile-body.ts'
import type { PolicySchema } from '../../authorization/policies/policy-schema.ts'
import { budgetFault } from '../../authorization/policies/slice-budget.ts'
import type { NewPolicy } from '../../authorization/policies/store.ts'
import { ApiError } from '../../platform/errors.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { SlicePolicy } from '../../policy-engine/compile/compiled-policy.ts'
import { roleNameKey } from '../../tenancy/roles/store.ts'
import { faultsOfNames, faultsOfPolicyNames } from './check-names.ts'
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
 * Compiles a manifest; `others` are those of other applications, whose names it must not take. Returns all faults, each
 * with its position in `text`.
 */
export function compileManifest(
  manifest: Manifest,
  others: readonly AppliedManifest[],
  text: string,
  patternCostUs: PatternCost | undefined,
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
    try {
      const { fields, rules, compiled } = compileBody(
        { ...body, kind: 'json' },
        schema,
        patternCostUs,
        () => text,
        pointer,
      )
      const policy = { key, optional, fields, rules, compiled }
      const fault = budgetFault('', inSlice(policy, active.length), active)
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

function policyFaults(error: unknown, pointer: string, text: string): ManifestFault[] {
  if (!(error instanceof ApiError)) throw error
  return error.errors.map((fault) =>
    'pointer' in fault
      ? (fault as unknown as ManifestFault)
      : faultAt(text, { ...fault, pointer: `${pointer}/${fault.field}` }),
  )
}

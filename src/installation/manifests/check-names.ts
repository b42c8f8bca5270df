import { wrongAllowedValue } from '../../authorization/attributes/define-attribute.ts'
import { serviceResources, systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { withoutCase } from '../../policy-engine/catalogue/attribute-keys.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import { reservedName, reservedResources } from '../../policy-engine/catalogue/reserved-names.ts'
import { typeNames } from '../../tenancy/members/check-attributes.ts'
import { roleNameKey } from '../../tenancy/roles/store.ts'
import { pointerTo } from '../../text/json-pointer.ts'
import type { AppliedManifest } from './compile-manifest.ts'
import type { Manifest } from './manifest-schema.ts'
import type { ManifestFault } from './read-manifest.ts'

type Fault = Pick<ManifestFault, 'pointer' | 'code' | 'detail'>

const fault = (path: (string | number)[], code: string, detail: string): Fault => ({
  pointer: pointerTo(path),
  code,
  detail,
})

/** The faults in the names that a manifest takes: those of the service, and of the manifests of other applications. */
export function faultsOfNames(manifest: Manifest, others: readonly AppliedManifest[]): Fault[] {
  return [
    ...resourceTypeFaults(manifest, others),
    ...attributeFaults(manifest, others),
    ...roleFaults(manifest, others),
    ...resourceFaults(manifest, others),
  ]
}

const takenBy = (others: readonly AppliedManifest[], has: (document: Manifest) => boolean) =>
  others.find(({ document }) => has(document))?.application

function resourceTypeFaults(manifest: Manifest, others: readonly AppliedManifest[]): Fault[] {
  return Object.keys(manifest.resource_types).flatMap((type) => {
    const path = ['resource_types', type]
    if (reservedResources.includes(type)) return [fault(path, 'name_taken', reservedName(type))]
    if (serviceResources.has(type))
      return [
        fault(path, 'name_taken', `The service has resources of the type ${type}. Choose another name.`),
      ]
    const other = takenBy(others, ({ resource_types }) => Object.hasOwn(resource_types, type))
    return other ? [fault(path, 'name_taken', `The application ${other} has the resource type ${type}.`)] : []
  })
}

function attributeFaults(manifest: Manifest, others: readonly AppliedManifest[]): Fault[] {
  const firstOf = new Map<string, string>()
  return Object.entries(manifest.attributes).flatMap(([name, { allowed_values, data_type }]) => {
    const path = ['attributes', name]
    const key = withoutCase(name)
    if (builtInAttributes.has(key))
      return [fault(path, 'name_taken', `The attribute ${key} is built in. Leave it out, and use it.`)]
    const has = ({ attributes }: Manifest) => Object.keys(attributes).some((one) => withoutCase(one) === key)
    const other = takenBy(others, has)
    if (other) return [fault(path, 'name_taken', `The application ${other} has the attribute ${name}.`)]
    const first = firstOf.get(key)
    if (first !== undefined)
      return [fault(path, 'name_taken', `${name} differs from ${first} by case alone. Choose another key.`)]
    firstOf.set(key, name)
    const wrong = wrongAllowedValue(allowed_values, data_type)
    const detail = `This has to be ${typeNames[data_type]}.`
    return wrong === undefined ? [] : [fault([...path, 'allowed_values', wrong], 'invalid', detail)]
  })
}

function roleFaults(manifest: Manifest, others: readonly AppliedManifest[]): Fault[] {
  const taken = new Map<string, string>()
  for (const name of systemRoles) taken.set(name, 'Every tenant has a system role with this name.')
  for (const { application, document } of others)
    for (const { name } of Object.values(document.roles))
      taken.set(roleNameKey(name), `The application ${application} has a role with this name.`)
  return Object.entries(manifest.roles).flatMap(([key, { name, permissions }]) => {
    const known = taken.get(roleNameKey(name))
    taken.set(roleNameKey(name), 'Another role of this manifest has this name.')
    return [
      ...(known ? [fault(['roles', key, 'name'], 'name_taken', `${known} Choose another name.`)] : []),
      ...permissions.flatMap((permission, index) =>
        undeclared(manifest, permission, ['roles', key, 'permissions', index]),
      ),
    ]
  })
}

function resourceFaults(
  { clients = {}, resources = {}, ...manifest }: Manifest,
  others: readonly AppliedManifest[],
) {
  const taken = new Set<string>()
  return Object.entries(resources).flatMap(([key, { identifier, scopes, clients: named }]) => {
    const path = ['resources', key]
    const other = takenBy(others, (document) =>
      Object.values(document.resources ?? {}).some((one) => one.identifier === identifier),
    )
    const holder = other ? `The application ${other}` : taken.has(identifier) ? 'Another entry' : undefined
    taken.add(identifier)
    const detail = `${holder} has this identifier. It names one API alone.`
    return [
      ...(holder ? [fault([...path, 'identifier'], 'name_taken', detail)] : []),
      ...scopes.flatMap(({ permission }, index) =>
        undeclared(manifest, permission, [...path, 'scopes', index, 'permission']),
      ),
      ...named.flatMap((client, index) =>
        Object.hasOwn(clients, client)
          ? []
          : [fault([...path, 'clients', index], 'unknown', `The manifest has no client ${client}.`)],
      ),
    ]
  })
}

/** The faults in the names that the policies of a manifest use: resource types, actions, departments and users. */
export function faultsOfPolicyNames(manifest: Manifest): Fault[] {
  return Object.entries(manifest.policies).flatMap(([key, policy]) => {
    const path = ['policies', key]
    return [
      ...policy.actions.flatMap((action, index) => undeclared(manifest, action, [...path, 'actions', index])),
      ...policy.resource_types.flatMap((type, index) =>
        isKnownType(manifest, type)
          ? []
          : [fault([...path, 'resource_types', index], 'unknown_resource_type', unknownType(type))],
      ),
      ...(['departments', 'users'] as const).flatMap((kind) => subjectFaults(policy.subjects, kind, path)),
    ]
  })
}

/** Departments and users belong to one tenant. */
function subjectFaults(subjects: unknown, kind: 'departments' | 'users', path: string[]): Fault[] {
  const given = (subjects as Record<string, unknown> | undefined | null)?.[kind]
  if (given === undefined || (Array.isArray(given) && given.length === 0)) return []
  const detail = `A policy of every tenant cannot name ${kind} of one. Name roles, or compare attributes.`
  return [fault([...path, 'subjects', kind], 'not_in_every_tenant', detail)]
}

const isKnownType = (manifest: Manifest, type: string) =>
  serviceResources.has(type) || Object.hasOwn(manifest.resource_types, type)

const unknownType = (type: string) =>
  `The manifest has no resource type ${type}. Add it to resource_types, or correct the name.`

/** The fault if a permission or action (`resource:verb`, `resource:*`) of the application is not in `resource_types`. */
function undeclared(
  manifest: Pick<Manifest, 'resource_types'>,
  name: string,
  path: (string | number)[],
): Fault[] {
  const [type = '', verb = ''] = name.split(':')
  if (name === '*' || serviceResources.has(type)) return []
  const declared = manifest.resource_types[type]
  if (!declared) return [fault(path, 'unknown_resource_type', unknownType(type))]
  if (verb === '*' || Object.hasOwn(declared.actions, verb)) return []
  return [
    fault(
      path,
      'unknown_action',
      `The resource type ${type} has no action ${verb}. Add it to /resource_types/${type}/actions, or correct the name.`,
    ),
  ]
}

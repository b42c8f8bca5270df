import type { Manifest } from './manifest-schema.ts'
import { faultAt, type ManifestFault } from './read-manifest.ts'

/** What a version of a manifest changes that cannot change: the type of an attribute, the kind of a policy. */
export const faultsOfChanges = (before: Manifest, after: Manifest, text: string): ManifestFault[] => [
  ...changedTypes(before, after, text),
  ...changedKinds(before, after, text),
]

/** Values of an attribute are stored with members and in policies, so its type stays. */
const changedTypes = (before: Manifest, after: Manifest, text: string) =>
  Object.entries(after.attributes).flatMap(([name, { data_type }]) => {
    const was = before.attributes[name]?.data_type ?? data_type
    if (was === data_type) return []
    const detail = `The type of ${name} is ${was} and cannot change. Define another key.`
    return [faultAt(text, { pointer: `/attributes/${name}/data_type`, code: 'type_changed', detail })]
  })

/** The versions of a policy are of one kind. */
const changedKinds = (before: Manifest, after: Manifest, text: string) =>
  Object.entries(after.policies).flatMap(([key, { kind = 'json' }]) => {
    const policy = before.policies[key]
    const was = policy ? (policy.kind ?? 'json') : kind
    if (was === kind) return []
    const detail = `The kind of the policy ${key} is ${was} and cannot change. Define another key.`
    return [faultAt(text, { pointer: `/policies/${key}`, code: 'kind_changed', detail })]
  })

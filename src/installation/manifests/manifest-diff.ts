import { canonicalJson } from '../../crypto/canonical-json.ts'
import type { Manifest } from './manifest-schema.ts'

/** A difference between two versions of a manifest. `fields` are the members that a changed entry has otherwise. */
export interface Difference {
  change: 'added' | 'changed' | 'removed'
  kind: 'application' | 'resource type' | 'role' | 'attribute' | 'policy' | 'webhook' | 'client' | 'resource'
  name: string
  fields: { field: string; before: unknown; after: unknown }[]
}

const kinds = {
  resource_types: 'resource type',
  attributes: 'attribute',
  roles: 'role',
  policies: 'policy',
  webhooks: 'webhook',
  clients: 'client',
  resources: 'resource',
} as const

/** What `after` changes. Without `before`, everything is new. */
export function diffManifests(before: Manifest | null, after: Manifest): Difference[] {
  const about = ({ name, description }: Manifest) => ({ name, description })
  const application = entryDifference(
    'application',
    after.application,
    before ? about(before) : undefined,
    about(after),
  )
  return [
    ...application,
    ...Object.entries(kinds).flatMap(([section, kind]) => {
      const [was, is] = [
        before?.[section as keyof typeof kinds] ?? {},
        after[section as keyof typeof kinds] ?? {},
      ] as [Record<string, object>, Record<string, object>]
      const names = [...new Set([...Object.keys(was), ...Object.keys(is)])]
      return names.flatMap((name) => entryDifference(kind, name, was[name], is[name]))
    }),
  ]
}

function entryDifference(
  kind: Difference['kind'],
  name: string,
  before: object | undefined,
  after: object | undefined,
): Difference[] {
  if (!before) return [{ change: 'added', kind, name, fields: [] }]
  if (!after) return [{ change: 'removed', kind, name, fields: [] }]
  const [was, is] = [before as Record<string, unknown>, after as Record<string, unknown>]
  const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .map((field) => ({ field, before: was[field] ?? null, after: is[field] ?? null }))
    .filter(({ before, after }) => canonicalJson(before) !== canonicalJson(after))
  return fields.length === 0 ? [] : [{ change: 'changed', kind, name, fields }]
}

const signs = { added: '+', changed: '~', removed: '-' }

/** The differences as lines: `+` added, `~` changed (with old and new values), `-` removed. */
export const diffLines = (differences: readonly Difference[]): string[] =>
  differences.flatMap(({ change, kind, name, fields }) => [
    `${signs[change]} ${kind} ${name}`,
    ...fields.map(({ field, before, after }) => `    ${field}: ${short(before)} → ${short(after)}`),
  ])

function short(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length <= 200 ? text : `${text.slice(0, 199)}…`
}

import { operatorsByType } from '../api/names.ts'
import type { Choice, Complete, Place } from '../editor/completion.ts'
import { texts } from './texts.ts'
import type { Vocabulary } from './vocabulary.ts'

/** What a member of an object begins with, by its name. */
type Names = Record<string, string>

const names: { at: RegExp; names: Names }[] = [
  {
    at: /^$/,
    names: {
      name: '"#{}"',
      description: '"#{}"',
      kind: '"#{}"',
      effect: '"#{}"',
      actions: '["#{}"]',
      resource_types: '["#{}"]',
      subjects: '{ #{} }',
      conditions: '{ #{} }',
      approval: '{ "quorum": 1#{} }',
      obligations: '[{ "type": "#{}" }]',
      mode: '"#{}"',
      priority: '0#{}',
      valid_from: '"#{}"',
      valid_until: '"#{}"',
      is_active: 'true#{}',
    },
  },
  { at: /^\/subjects$/, names: { roles: '["#{}"]', departments: '["#{}"]', users: '["#{}"]' } },
  {
    at: /^\/conditions(\/(all|any|none)\/\d+)*$/,
    names: {
      all: '[\n\t#{}\n]',
      any: '[\n\t#{}\n]',
      none: '[\n\t#{}\n]',
      attribute: '"#{}"',
      operator: '"#{}"',
      value: '#{}',
      value_from: '"#{}"',
    },
  },
  {
    at: /^\/approval$/,
    names: { quorum: '1#{}', approver: '{ "roles": ["#{}"] }', expires_in: '86400#{}', valid_for: '3600#{}' },
  },
  { at: /^\/approval\/approver$/, names: { roles: '["#{}"]' } },
  { at: /^\/obligations\/\d+$/, names: { type: '"#{}"', properties: '{ #{} }' } },
  {
    at: /^\/obligations\/\d+\/properties$/,
    names: { fields: '["#{}"]', acr: '"aal2"#{}', max_age: '300#{}' },
  },
]

/** The words that fit at a place of a policy: names of members, and what the organisation knows. */
export const completePolicy =
  (known: Vocabulary): Complete =>
  (place) =>
    place.kind === 'name' ? nameChoices(place) : valueChoices(place, known)

function nameChoices({ pointer, isNamed }: Place): Choice[] {
  const found = names.find(({ at }) => at.test(pointer))?.names ?? {}
  return Object.entries(found).map(([name, value]) => ({
    label: name,
    insert: isNamed ? `"${name}"` : `"${name}": ${value}`,
    isTemplate: !isNamed,
    ...(texts.members[name] && { detail: texts.members[name] }),
  }))
}

const quoted = (values: readonly string[], details: Record<string, string> = {}): Choice[] =>
  values.map((value) => ({
    label: value,
    insert: JSON.stringify(value),
    ...(details[value] && { detail: details[value] }),
  }))

function valueChoices({ pointer, sibling }: Place, known: Vocabulary): Choice[] {
  const attributes = () =>
    known.attributes.map(({ name, type }) => ({ label: name, insert: JSON.stringify(name), detail: type }))
  const attribute = () => known.attributes.find(({ name }) => name === sibling('attribute'))
  const lists: [RegExp, () => Choice[]][] = [
    [/^\/effect$/, () => quoted(Object.keys(texts.effects), texts.effects)],
    [/^\/mode$/, () => quoted(Object.keys(texts.modes), texts.modes)],
    [/^\/is_active$/, () => plain(['true', 'false'])],
    [/^\/actions\/\d+$/, () => quoted(known.actions)],
    [/^\/resource_types\/\d+$/, () => quoted(known.resourceTypes)],
    [/^(\/subjects|\/approval\/approver)\/roles\/\d+$/, () => quoted(known.roles)],
    [
      /^\/subjects\/departments\/\d+$/,
      () =>
        known.departments.map(({ id, name }) => ({ label: name, insert: `"${id}"`, detail: id.slice(-12) })),
    ],
    [/\/(attribute|value_from)$/, attributes],
    [/\/operator$/, () => quoted(operatorsByType[attribute()?.type ?? 'string'])],
    [/\/value(\/\d+)?$/, () => valuesOf(attribute()?.allowed, attribute()?.type)],
    [/^\/obligations\/\d+\/type$/, () => quoted(['mask_fields', 'step_up'])],
    [/^\/obligations\/\d+\/properties\/acr$/, () => quoted(['aal1', 'aal2'])],
  ]
  return lists.find(([at]) => at.test(pointer))?.[1]() ?? []
}

const plain = (values: readonly string[]): Choice[] => values.map((label) => ({ label, insert: label }))

const valuesOf = (allowed: readonly unknown[] | null | undefined, type: string | undefined): Choice[] =>
  allowed
    ? plain(allowed.map((value) => JSON.stringify(value)))
    : type === 'boolean'
      ? plain(['true', 'false'])
      : type === 'datetime'
        ? quoted(['now', 'now-24h', 'now+7d'])
        : []

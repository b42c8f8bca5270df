import { operatorsByType } from '../api/names.ts'
import type { Choice, Choices, Complete } from '../editor/completion.ts'
import { readJson, type Token } from '../editor/read-json.ts'
import { texts } from './texts.ts'
import type { Vocabulary } from './vocabulary.ts'

/** What a member of an object begins with, by its name. */
type Names = Record<string, string>

const names: { at: RegExp; names: Names }[] = [
  {
    at: /^$/,
    names: {
      name: '"‸"',
      description: '"‸"',
      kind: '"‸"',
      effect: '"‸"',
      actions: '["‸"]',
      resource_types: '["‸"]',
      subjects: '{ ‸ }',
      conditions: '{ ‸ }',
      approval: '{ "quorum": 1‸ }',
      obligations: '[{ "type": "‸" }]',
      mode: '"‸"',
      priority: '0‸',
      valid_from: '"‸"',
      valid_until: '"‸"',
      is_active: 'true‸',
    },
  },
  { at: /^\/subjects$/, names: { roles: '["‸"]', departments: '["‸"]', users: '["‸"]' } },
  {
    at: /^\/conditions(\/(all|any|none)\/\d+)*$/,
    names: {
      all: '[\n‸\n]',
      any: '[\n‸\n]',
      none: '[\n‸\n]',
      attribute: '"‸"',
      operator: '"‸"',
      value: '‸',
      value_from: '"‸"',
    },
  },
  {
    at: /^\/approval$/,
    names: { quorum: '1‸', approver: '{ "roles": ["‸"] }', expires_in: '86400‸', valid_for: '3600‸' },
  },
  { at: /^\/approval\/approver$/, names: { roles: '["‸"]' } },
  { at: /^\/obligations\/\d+$/, names: { type: '"‸"', properties: '{ ‸ }' } },
  { at: /^\/obligations\/\d+\/properties$/, names: { fields: '["‸"]', acr: '"aal2"‸', max_age: '300‸' } },
]

/** The words that fit at a position of a policy: names of members, and what the organisation knows. */
export const completePolicy =
  (known: Vocabulary): Complete =>
  (text, position) => {
    const head = readJson(text.slice(0, position))
    const frame = head.open.at(-1)
    if (!frame) return null
    const last = head.tokens.at(-1)
    const inside = last && last.to === position && isUnfinished(last, text) ? last : null
    const isName = inside ? inside.kind === 'name' : frame.kind === '{' && frame.expects === 'name'
    const [from, to] = inside ? [inside.from, endOf(text, position)] : [position, position]
    const typed = text.slice(from, position).replace(/^"/, '').toLowerCase()
    if (isName) return ranked(nameChoices(frame.pointer, text, to), typed, from, to)
    if (!inside && frame.expects !== 'value') return null
    const pointer = inside?.pointer ?? `${frame.pointer}/${frame.kind === '[' ? frame.index : frame.name}`
    return ranked(valueChoices(pointer, text, known), typed, from, to)
  }

const isUnfinished = ({ kind, from, to }: Token, text: string) =>
  kind === 'word' ||
  (kind !== 'number' && text[from] === '"' && !/^".*[^\\]"$|^""$/.test(text.slice(from, to)))

/** The end of the text that the cursor is in: its closing quote, if that follows. */
const endOf = (text: string, position: number): number =>
  position + (/^[^"\\\s,{}[\]]*"/.exec(text.slice(position))?.[0].length ?? 0)

function nameChoices(pointer: string, text: string, to: number): Choice[] {
  const found = names.find(({ at }) => at.test(pointer))?.names ?? {}
  const isNamed = /^\s*:/.test(text.slice(to))
  return Object.entries(found).map(([name, value]) => ({
    label: name,
    insert: isNamed ? `"${name}"` : `"${name}": ${value}`,
    ...(texts.members[name] && { detail: texts.members[name] }),
  }))
}

const quoted = (values: readonly string[], details: Record<string, string> = {}): Choice[] =>
  values.map((value) => ({
    label: value,
    insert: JSON.stringify(value),
    ...(details[value] && { detail: details[value] }),
  }))

function valueChoices(pointer: string, text: string, known: Vocabulary): Choice[] {
  const attributes = () =>
    known.attributes.map(({ name, type }) => ({ label: name, insert: JSON.stringify(name), detail: type }))
  const attribute = () => known.attributes.find(({ name }) => name === siblingOf(text, pointer, 'attribute'))
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

/** The text of another member of the object that contains the value. */
function siblingOf(text: string, pointer: string, name: string): string | null {
  const place = readJson(text).places.get(pointer.replace(/\/(operator|value(\/\d+)?)$/, `/${name}`))
  try {
    return place ? JSON.parse(text.slice(place.from, place.to)) : null
  } catch {
    return null
  }
}

/** Those that begin with what was typed come first, then those that contain it. */
function ranked(choices: Choice[], typed: string, from: number, to: number): Choices {
  const at = (choice: Choice) => choice.label.toLowerCase().indexOf(typed)
  const fitting = choices.filter((choice) => at(choice) >= 0)
  return { from, to, choices: fitting.sort((one, other) => Math.min(at(one), 1) - Math.min(at(other), 1)) }
}

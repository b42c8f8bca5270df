import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One golden case: an input and a slice as the policies read them, and the required answer. */
export interface GoldenCase {
  name: string
  input: unknown
  slice: { readonly text: string }
  effect: string
  /** the codes of the reasons, in order; undefined if only the first one, `first`, is fixed */
  codes?: string[]
  first: string
  /** further members of the answer */
  answer?: object
}

type Changes = Record<string, unknown>
type NamedChanges = Record<string, Changes>

interface Written {
  /** An action and parts, such as `policy:list owner deny`. */
  given?: string
  /** By path, after the parts. */
  set?: Changes
  effect: string
  codes: string[]
  answer?: object
}

interface RoleTable {
  columns: string[]
  marks: Record<string, Record<'route' | 'own' | 'foreign', string>>
  rows: Record<string, string>
}

const situations = ['true', 'false', 'wrong', 'ill-typed', 'missing'] as const
type Situation = (typeof situations)[number]
type Operators = Record<string, { leaf: { w: boolean }; missing?: string } & Record<string, unknown>>
type Outcomes = Record<
  'allow' | 'deny' | 'gate',
  { set: Record<string, unknown>; answers: Record<string, [string, string]> }
>

const grants = new Set(['role_grant', 'own', 'open_to_members'])
const owners = { route: null, own: 'user-1', foreign: 'user-2' } as const

/** All cases of a policies folder. `opa test` expands all but the table of roles in `cases/cases_test.rego`. */
export function goldenCases(folder: string): GoldenCase[] {
  const read = (name: string) => JSON.parse(readFileSync(join(folder, 'cases', `${name}.json`), 'utf8'))
  const { base, parts } = read('base')
  const whole = { ...base, slice: read('slice') }
  const { operators, outcomes } = read('operators')
  return [
    ...roleCases(whole, read('roles').roles),
    ...combiningCases(whole, parts, read('combining').combining),
    ...writtenCases(whole, parts, {
      ...read('invariants').invariants,
      ...read('grants').grants,
      ...read('policies').policies,
    }),
    ...operatorCases(whole, operators, outcomes),
    ...incompleteCases(whole, read('incomplete').incomplete),
  ]
}

function roleCases(whole: object, { columns, marks, rows }: RoleTable): GoldenCase[] {
  return Object.entries(rows).flatMap(([action, row]) =>
    row.split(' ').flatMap((mark, column) =>
      (['route', 'own', 'foreign'] as const).map((kind) => {
        const code = marks[mark]?.[kind] ?? 'no such mark'
        const changes = roleChanges(action, columns[column] ?? 'no such column', kind)
        const effect = grants.has(code) ? 'allow' : 'deny'
        return golden(whole, `${action} ${columns[column]} ${kind}`, { set: changes, effect, codes: [code] })
      }),
    ),
  )
}

const roleChanges = (action: string, role: string, kind: keyof typeof owners) => ({
  action,
  phase: kind === 'route' ? 'route' : 'resource',
  'subject/membership/system_roles': [role],
  'resource/owner_id': owners[kind],
})

/** A row says what is given, and the effect and the code of the answer. */
const combiningCases = (whole: object, parts: NamedChanges, rows: Record<string, string>) =>
  Object.entries(rows).map(([given, answer]) => {
    const [effect = '', ...codes] = answer.split(' ')
    return golden(whole, given, { set: changesOf(parts, { given }), effect, codes })
  })

const writtenCases = (whole: object, parts: NamedChanges, cases: Record<string, Written>) =>
  Object.entries(cases).map(([name, written]) =>
    golden(whole, name, { ...written, set: changesOf(parts, written) }),
  )

function changesOf(parts: NamedChanges, { given, set }: Pick<Written, 'given' | 'set'>): Changes {
  const changes = (given?.split(' ') ?? []).map((word) =>
    word.includes(':') ? { action: word } : parts[word],
  )
  if (changes.includes(undefined)) throw new Error(`"${given}" has a word that is no action and no part`)
  return Object.assign({}, ...changes, set)
}

// Each operator in a policy of each effect, with a value that matches, one that does not, one of a wrong type and none.
function operatorCases(whole: object, operators: Operators, outcomes: Outcomes): GoldenCase[] {
  return Object.entries(operators).flatMap(([name, row]) =>
    (['allow', 'deny', 'gate'] as const).flatMap((effect) =>
      situations
        .filter((situation) => situation === 'missing' || situation === 'ill-typed' || situation in row)
        .map((situation) =>
          operatorCase(whole, `${name} ${effect} ${situation}`, { row, effect, situation, outcomes }),
        ),
    ),
  )
}

function operatorCase(
  whole: object,
  name: string,
  given: { row: Operators[string]; effect: keyof Outcomes; situation: Situation; outcomes: Outcomes },
): GoldenCase {
  const { row, effect, situation } = given
  const { set, answers } = given.outcomes[effect]
  const outcome = situation === 'missing' ? (row.missing ?? 'unknown') : situation
  const [answer, ...codes] = answers[outcome] ?? (answers.unknown as [string, string])
  // Null stands for a value of another type.
  const attrs = situation === 'missing' ? {} : { 'subject.x': row[situation] ?? null }
  const more = (row.attrs ?? {}) as object
  const policy = {
    h: { policy_id: 'p', version: 1, name: 'P', effect, priority: 0 },
    ...proofOf(row.leaf, effect),
    ...gateOf,
  }
  return golden(whole, name, {
    set: {
      ...set,
      attrs: { ...attrs, ...more },
      'slice/policies': { p: policy },
      [`slice/${effect}/any`]: ['p'],
    },
    effect: answer,
    codes,
  })
}

const gateOf = { approval: { quorum: 1, approver: { roles: ['owner'] }, expires_in: 60, valid_for: 60 } }

function proofOf(leaf: { w: boolean }, effect: keyof Outcomes) {
  const node = (w: boolean) => ({ g: { k: 'subject.x', ...leaf, w }, l: [], c: [] })
  return effect === 'allow' ? { all: node(leaf.w) } : { any: node(!leaf.w) }
}

function incompleteCases(whole: object, paths: string[]): GoldenCase[] {
  return paths.map((path) => {
    const written = { set: { [path]: undefined }, effect: 'deny', codes: ['incomplete_input'] }
    return { ...golden(whole, `without ${path}`, written), codes: undefined }
  })
}

function golden(whole: object, name: string, { set = {}, effect, codes, answer }: Written): GoldenCase {
  const { slice, ...input } = changed(whole, set) as { slice?: object }
  return { name, input, slice: sliceOf(slice), effect, codes, first: codes[0] ?? 'no code', answer }
}

// Returns the same object for the same slice, so that the module parses it once.
const slices = new WeakMap<object, { readonly text: string }>()

function sliceOf(slice: object | undefined): { readonly text: string } {
  if (!slice) return { text: 'null' }
  const known = slices.get(slice) ?? { text: JSON.stringify(slice) }
  slices.set(slice, known)
  return known
}

// Paths are separated by slashes, as in JSON Patch; undefined removes the member. Members not on a path are shared
// with the base.
function changed(whole: object, changes: Changes): object {
  return Object.entries(changes).reduce((at, [path, value]) => put(at, path.split('/'), value), whole)
}

function put(at: object, [key, ...rest]: string[], value: unknown): object {
  const member = (at as Record<string, object>)[key as string] as object
  return { ...at, [key as string]: rest.length === 0 ? value : put(member, rest, value) }
}

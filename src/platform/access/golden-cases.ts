import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

/** One golden case: an input as the policies read it, and the answer they must give. */
export interface GoldenCase {
  name: string
  input: unknown
  effect: string
  /** of the reasons, in order; undefined where only the first is fixed, which is `first` */
  codes?: string[]
  first: string
}

interface Written {
  set: Record<string, unknown>
  effect: string
  codes: string[]
}

interface RoleTable {
  columns: string[]
  marks: Record<string, Record<'route' | 'own' | 'foreign', string>>
  rows: Record<string, string>
}

const grants = new Set(['role_grant', 'own', 'open_to_members'])
const owners = { route: null, own: 'user-1', foreign: 'user-2' } as const

/** All cases of a policies folder; `opa test` expands the same files in `cases/cases_test.rego`. */
export function goldenCases(folder: string): GoldenCase[] {
  const read = (name: string) => JSON.parse(readFileSync(join(folder, 'cases', `${name}.json`), 'utf8'))[name]
  const base = read('base')
  return [
    ...roleCases(base, read('roles')),
    ...writtenCases(base, { ...read('invariants'), ...read('grants') }),
    ...incompleteCases(base, read('incomplete')),
  ]
}

/** Asks every golden case; throws at the first that is answered differently. */
export function assertGolden(folder: string, instance: { evaluate(input: unknown): unknown }): void {
  for (const golden of goldenCases(folder)) {
    const answer = (instance.evaluate(golden.input) as [{ result?: Answered }])[0]?.result
    if (!answer || !agrees(answer, golden)) throw new Error(`the policies answer otherwise: ${golden.name}`)
  }
}

interface Answered {
  effect: string
  reasons: { code: string }[]
}

function agrees({ effect, reasons }: Answered, golden: GoldenCase): boolean {
  const codes = reasons.map(({ code }) => code)
  if (golden.codes && !isDeepStrictEqual(codes, golden.codes)) return false
  return effect === golden.effect && codes[0] === golden.first
}

function roleCases(base: object, { columns, marks, rows }: RoleTable): GoldenCase[] {
  return Object.entries(rows).flatMap(([action, row]) =>
    row.split(' ').flatMap((mark, column) =>
      (['route', 'own', 'foreign'] as const).map((kind) => {
        const code = marks[mark]?.[kind] ?? 'no such mark'
        const input = changed(base, roleChanges(action, columns[column] ?? 'no such column', kind))
        const effect = grants.has(code) ? 'allow' : 'deny'
        return { name: `${action} ${columns[column]} ${kind}`, input, effect, codes: [code], first: code }
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

function writtenCases(base: object, cases: Record<string, Written>): GoldenCase[] {
  return Object.entries(cases).map(([name, { set, effect, codes }]) => ({
    name,
    input: changed(base, set),
    effect,
    codes,
    first: codes[0] ?? 'no code',
  }))
}

function incompleteCases(base: object, paths: string[]): GoldenCase[] {
  return paths.map((path) => ({
    name: `without ${path}`,
    input: changed(base, { [path]: undefined }),
    effect: 'deny',
    first: 'incomplete_input',
  }))
}

// Paths are separated by slashes, as in JSON Patch; undefined takes the member away.
function changed(base: object, changes: Record<string, unknown>): object {
  const copy = structuredClone(base)
  for (const [path, value] of Object.entries(changes)) {
    const keys = path.split('/')
    const last = keys.pop() as string
    const parent = keys.reduce(
      (at, key) => at[key] as Record<string, unknown>,
      copy as Record<string, unknown>,
    )
    parent[last] = value
  }
  return copy
}

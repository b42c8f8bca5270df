import type { FieldError } from '../../errors.ts'
import { pointerTo } from '../../text/json-pointer.ts'
import { misspelt, nearestName } from '../../text/nearest-name.ts'
import type { Known, KnownObject } from './known-members.ts'

/** A member of a body that is refused, because its schema does not know it. */
export interface UnknownMember {
  path: readonly string[]
  /** The member that was probably meant; null if none is near. */
  meant: string | null
  /** What the object can have. */
  members: readonly string[]
  refuses: Refuses
}

/** The code with which every unknown member is refused; undefined where only misspelt ones are. */
type Refuses = Known['refuses'] | 'validation_error'

interface Search {
  found: UnknownMember[]
  compared: number
}

const maxFound = 20
// Of an unknown name, which can be as long as the body.
const longestShown = 64
// A comparison with the names of an object takes some µs. A body of many other names must not keep the process busy.
const maxCompared = 200

/**
 * The members of a body that are refused: all unknown ones where the schema or `refuses` says so, else those that misspell
 * a known one. What `answer`, the answer of the route, shows can be sent back, and is ignored. At most 20.
 */
export function unknownMembers(
  known: Known,
  answer: Known | null,
  body: unknown,
  refuses?: 'validation_error',
): UnknownMember[] {
  const search: Search = { found: [], compared: 0 }
  walk(search, { known, answer, refuses, path: [] }, body)
  return search.found
}

/** Where a value is, and what is known of it. */
interface Place {
  known: Known
  /** What the answer shows there. */
  answer: Known | null
  /** From the route, or the schema around it. */
  refuses: Refuses
  path: readonly string[]
}

function walk(search: Search, place: Place, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const { known, path } = place
  const refuses = known.refuses ?? place.refuses
  const answer = known.shownAs ?? place.answer
  const form = Array.isArray(value) ? undefined : formOf(known.forms, value)
  const each = Array.isArray(value) ? known.entries : known.values
  if (!form && !each) return
  for (const [name, member] of Object.entries(value)) {
    if (search.found.length >= maxFound) return
    const child = form ? form.members.get(name) : each
    const shown = form ? memberOf(answer, value, name) : (answer?.entries ?? null)
    if (child && (typeof member !== 'object' || member === null)) continue
    const inside = { answer: shown, refuses, path: [...path, name] }
    if (child) walk(search, { ...inside, known: child }, member)
    else if (form && !shown) note(search, known, form, inside)
  }
}

/** Of the forms of an object, the one whose constants it has, else the one that knows most of its members. */
function formOf(forms: readonly KnownObject[], value: object): KnownObject | undefined {
  if (forms.length < 2) return forms[0]
  const names = Object.keys(value)
  const score = (form: KnownObject) =>
    names.filter((name) => form.members.has(name)).length - (hasConstants(form, value) ? 0 : names.length)
  return namedForm(forms, value) ?? forms.reduce((best, form) => (score(form) > score(best) ? form : best))
}

const hasConstants = ({ constants }: KnownObject, value: object) =>
  constants.every(([name, constant]) => (value as Record<string, unknown>)[name] === constant)

const namedForm = (forms: readonly KnownObject[], value: object) =>
  forms.find((form) => form.constants.length > 0 && hasConstants(form, value))

/** Of the form that the constants of the value name; of any one where they name none. */
function memberOf(known: Known | null, value: object, name: string): Known | null {
  const named = known && namedForm(known.forms, value)
  const forms = named ? [named] : (known?.forms ?? [])
  return forms.find(({ members }) => members.has(name))?.members.get(name) ?? null
}

function note(
  search: Search,
  { forms }: Known,
  { members }: KnownObject,
  { path, refuses }: Pick<Place, 'path' | 'refuses'>,
): void {
  const name = path.at(-1) ?? ''
  const all = () => forms.flatMap((form) => [...form.members.keys()])
  const meant = refuses ? nearestName(name, all()) : misspeltMember(search, name, members)
  if (refuses || meant !== null) search.found.push({ path, meant, members: [...members.keys()], refuses })
}

/** How forms repeat a field for a check of their own: `password_confirm`, `password2`. */
const repeated = /(\d|_confirm|_confirmation)$/

function misspeltMember(search: Search, name: string, members: KnownObject['members']): string | null {
  if (search.compared >= maxCompared || members.has(name.replace(repeated, ''))) return null
  search.compared++
  return misspelt(name, members.keys())
}

/** The fault of a member that a document, such as a policy, cannot have. */
export const unknownMember = ({ path, meant, members }: UnknownMember) => ({
  pointer: pointerTo(path),
  code: 'unknown_member' as const,
  detail: `There is no member ${named(path)} here. ${meant === null ? listed(members) : `Did you mean ${meant}?`}`,
  meant,
})

/** The fault of a member of another body. */
export function unknownField({ path, meant, members, refuses }: UnknownMember): FieldError {
  const names = path.map((name) => name.slice(0, longestShown))
  const hint = meant === null ? '' : ` Did you mean ${meant}?`
  const all = refuses ? ` ${listed(members)}` : ''
  return {
    field: names.join('.'),
    pointer: pointerTo(names),
    code: 'unknown_field',
    detail: `There is no field ${named(path)} here.${hint}${all}`,
    meant,
  }
}

const listed = (members: readonly string[]) =>
  members.length === 0 ? 'There is none at all.' : `Known are ${members.join(', ')}.`

/** The name of a member, as a sentence shows it. */
const named = (path: UnknownMember['path']) => JSON.stringify(String(path.at(-1)).slice(0, longestShown))

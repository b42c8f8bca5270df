import type { z } from 'zod'
import { ownCode, valueAt } from '../../request/body/field-errors.ts'
import { knownIn } from '../../request/body/known-members.ts'
import { unknownMember, unknownMembers } from '../../request/body/unknown-members.ts'
import { jsonFault } from '../../text/json-fault.ts'
import { locate, pointerTo, stepsOf } from '../../text/json-pointer.ts'
import { positionAt } from '../../text/text-position.ts'
import { type Manifest, type ManifestForms, manifestSchema } from './manifest-schema.ts'

/** A fault in a manifest; `pointer` is a JSON Pointer (RFC 6901). Lines and columns count from 1. */
export interface ManifestFault {
  pointer: string
  code: string
  detail: string
  line: number
  column: number
}

/** A manifest that cannot be applied, with all faults that were found. */
export class ManifestInvalid extends Error {
  readonly faults: readonly ManifestFault[]

  constructor(faults: ManifestInvalid['faults']) {
    super(`The manifest has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}.`)
    this.faults = faults
  }
}

/** The fault with its position in the text of the manifest. */
export const faultAt = (
  text: string,
  { pointer, code, detail }: Pick<ManifestFault, 'pointer' | 'code' | 'detail'>,
): ManifestFault => ({ pointer, ...locate(text, pointer), code, detail })

const maxBytes = 1024 * 1024
// JSON.stringify escapes these two, which neither Postgres nor the policy engine takes.
const unstorable = /(?<!\\)(\\\\)*\\u(0000|d[89a-f])/

/** The form of a manifest: its faults, and what can be checked further, without the entries that have some. */
interface ReadManifest {
  /** null if nothing can be checked further */
  document: Manifest | null
  faults: ManifestFault[]
  /** Whether a fault found later stands on its own: it is new, and about no entry that was left out. */
  standsAlone: (fault: ManifestFault) => boolean
}

/**
 * Parses the text of a manifest. Throws {@link ManifestInvalid} if it is no JSON that can be stored. What needs other manifests
 * is checked later, also of a manifest with faults, so that its author learns all of them at once.
 */
export function readManifest(text: string, forms: ManifestForms): ReadManifest {
  const refuse = (code: string, detail: string, offset = 0) =>
    new ManifestInvalid([{ pointer: '', ...positionAt(text, offset), code, detail }])
  if (Buffer.byteLength(text) > maxBytes) throw refuse('too_large', 'A manifest has 1 MiB at most.')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refuse('parse_error', 'The file is not valid JSON here.', jsonFault(text) ?? 0)
  }
  if (unstorable.test(JSON.stringify(value)))
    throw refuse('parse_error', 'Text must not contain NUL or lone surrogates.')
  const schema = manifestSchema(forms)
  const unknown = unknownMembers(knownIn(schema), null, value, 'validation_error')
  const { data, error } = schema.safeParse(value)
  const issues = error?.issues ?? []
  const found = [...unknown.map(unknownMember), ...issues.map((issue) => faultOf(issue, value))]
  const faults = found.map((fault) => faultAt(text, fault))
  const { rest, names } = withoutEntries(value, issues)
  const document = data ?? (rest && schema.safeParse(rest).data) ?? null
  const told = new Set(faults.map(({ pointer }) => pointer))
  const isAbout = ({ pointer }: ManifestFault) =>
    names.some((name) => hasName(valueAt(value, stepsOf(pointer)), name))
  return { document, faults, standsAlone: (fault) => !told.has(fault.pointer) && !isAbout(fault) }
}

/** A manifest without the entries that have faults, and the names that are missing with them; null if more is wrong. */
function withoutEntries(value: unknown, issues: readonly z.core.$ZodIssue[]) {
  const names: string[] = []
  if (issues.some(({ path }) => path.length < 2)) return { rest: null, names }
  const rest = structuredClone(value) as Record<string, Record<string, unknown>>
  for (const { path } of issues) {
    const [section = '', entry = ''] = path.map(String)
    // Other entries name a role by its name, and types, attributes and clients by their keys. The rest is not named.
    const name = section === 'roles' ? valueAt(value, [section, entry, 'name']) : entry
    if (typeof name === 'string' && name !== '' && namedSections.has(section)) names.push(name)
    delete rest[section]?.[entry]
  }
  return { rest, names }
}

const namedSections = new Set(['resource_types', 'attributes', 'roles', 'clients'])

/** Whether a part of a manifest has a name in it, as a whole word. */
function hasName(part: unknown, name: string): boolean {
  const between = (JSON.stringify(part) ?? '').toLowerCase().split(name.toLowerCase())
  return between.slice(1).some((after, n) => !/^[\w-]/.test(after) && !/[\w-]$/.test(between[n]!))
}

type Fault = Pick<ManifestFault, 'pointer' | 'code' | 'detail'>

function faultOf(issue: z.core.$ZodIssue, root: unknown): Fault {
  const pointer = pointerTo(issue.path)
  if (issue.code === 'invalid_key')
    return { pointer, code: 'invalid', detail: issue.issues[0]?.message ?? issue.message }
  const isMissing = issue.path.length > 0 && valueAt(root, issue.path) === undefined
  const name = String(issue.path.at(-1))
  return isMissing
    ? { pointer, code: 'required', detail: `${name} is missing. ${issue.message}` }
    : { pointer, code: issue.code === 'custom' ? ownCode(issue).code : 'invalid', detail: issue.message }
}

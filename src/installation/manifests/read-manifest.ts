import type { z } from 'zod'
import type { ReceiverRules } from '../../events/webhooks/public-address.ts'
import { ownCode, valueAt } from '../../request/body/field-errors.ts'
import { knownIn } from '../../request/body/known-members.ts'
import { unknownMember, unknownMembers } from '../../request/body/unknown-members.ts'
import { jsonFault } from '../../text/json-fault.ts'
import { locate, pointerTo } from '../../text/json-pointer.ts'
import { positionAt } from '../../text/text-position.ts'
import { type Manifest, manifestSchema } from './manifest-schema.ts'

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

/** Parses the text of a manifest. Throws {@link ManifestInvalid}. What needs other manifests is checked later. */
export function readManifest(text: string, receivers: ReceiverRules): Manifest {
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
  const schema = manifestSchema(receivers)
  const unknown = unknownMembers(knownIn(schema), null, value, 'validation_error')
  const { success, data, error } = schema.safeParse(value)
  if (success && unknown.length === 0) return data
  const faults = (error?.issues ?? []).map((issue) => faultOf(issue, value))
  throw new ManifestInvalid([...unknown.map(unknownMember), ...faults].map((fault) => faultAt(text, fault)))
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

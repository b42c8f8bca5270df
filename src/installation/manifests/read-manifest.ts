import type { z } from 'zod'
import { locate } from '../../authorization/policies/locate.ts'
import type { ReceiverRules } from '../../events/webhooks/public-address.ts'
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
  const refuse = (code: string, detail: string) =>
    new ManifestInvalid([{ pointer: '', line: 1, column: 1, code, detail }])
  if (Buffer.byteLength(text) > maxBytes) throw refuse('too_large', 'A manifest has 1 MiB at most.')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw refuse('parse_error', `The file is not JSON: ${(error as Error).message}.`)
  }
  if (unstorable.test(JSON.stringify(value)))
    throw refuse('parse_error', 'Text must not contain NUL or lone surrogates.')
  const { success, data, error } = manifestSchema(receivers).safeParse(value)
  if (success) return data
  throw new ManifestInvalid(error.issues.flatMap((issue) => faultsOf(text, issue, value)))
}

function faultsOf(text: string, issue: z.core.$ZodIssue, root: unknown): ManifestFault[] {
  const at = (path: readonly PropertyKey[], code: string, detail: string) =>
    faultAt(text, { pointer: pointerTo(path), code, detail })
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) =>
      at([...issue.path, key], 'unknown', `A manifest has no member "${key}" here.`),
    )
  if (issue.code === 'invalid_key')
    return [at(issue.path, 'invalid', issue.issues[0]?.message ?? issue.message)]
  const isMissing = issue.code === 'invalid_type' && valueAt(root, issue.path) === undefined
  return [at(issue.path, isMissing ? 'required' : 'invalid', issue.message)]
}

const valueAt = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], root)

/** The JSON Pointer (RFC 6901) to a path. */
export const pointerTo = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

import { ApiError } from '../../errors.ts'
import type { Fault } from '../../policy-engine/compile/policy-document.ts'
import { locate } from '../../text/json-pointer.ts'

// Each position is looked for in the whole text: in a MiB it takes 8 ms.
const maxLocated = 50
const maxSearched = 1_000_000

/**
 * 422 with the position of each fault in the text of the request: of the first 50 faults, and of fewer in a long text. `at`
 * is the JSON Pointer of the policy in the text. A fault of a module has its position in the module.
 */
export function policyInvalid(faults: readonly Fault[], text: string, at = ''): ApiError {
  const many = Math.max(1, Math.min(maxLocated, Math.floor(maxSearched / text.length)))
  const errors = faults.slice(0, many).map(({ pointer, position, ...fault }) => ({
    field: `${at}${pointer}`.slice(1).replaceAll('/', '.'),
    pointer: `${at}${pointer}`,
    ...(position ?? locate(text, `${at}${pointer}`)),
    ...fault,
  }))
  const message = errors.map(({ detail }) => detail).join(' ')
  return new ApiError(422, 'policy_invalid', message, { errors })
}

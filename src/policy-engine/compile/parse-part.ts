import type { z } from 'zod'
import type { Fault, FaultCode } from './policy-document.ts'

/** Parses one part of a policy. With faults, adds them with pointers below `pointer` and returns undefined. */
export function parsePart<S extends z.ZodType>(
  schema: S,
  value: unknown,
  pointer: string,
  faults: Fault[],
): z.output<S> | undefined {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  for (const { code, path, message, ...issue } of error.issues) {
    const at = path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
    faults.push({
      pointer: pointer + at,
      code: codeOf(code, message, (issue as { format?: unknown }).format),
      detail: `${message}.`,
    })
  }
  return undefined
}

function codeOf(code: string, message: string, format: unknown): FaultCode {
  if (code === 'too_big') return 'too_large'
  if (format === 'uuid') return 'malformed_id'
  return code === 'invalid_type' && message.endsWith('received undefined') ? 'required' : 'invalid'
}

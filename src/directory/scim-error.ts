import type { Context } from 'koa'
import { ApiError } from '../errors.ts'

const schema = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** Codes of the service with the error of SCIM that they are (RFC 7644, table 9). */
const scimTypes: Readonly<Record<string, string>> = {
  parse_error: 'invalidSyntax',
  validation_error: 'invalidValue',
  invalid_filter: 'invalidFilter',
  invalid_path: 'invalidPath',
  no_target: 'noTarget',
  too_many: 'tooMany',
  uniqueness: 'uniqueness',
  key_taken: 'uniqueness',
  already_member: 'uniqueness',
  mutability: 'mutability',
  last_owner: 'mutability',
}

/** 400: a filter, a path of PATCH or a value that SCIM does not allow. */
export const scimFault = (code: 'invalid_filter' | 'invalid_path' | 'no_target', detail: string) =>
  new ApiError(400, code, detail)

/** 409: another User or Group has this name or address. */
export const uniqueness = (detail: string) => new ApiError(409, 'uniqueness', detail)

/** 409: SCIM may not do this to this User. */
export const mutability = (detail: string) => new ApiError(409, 'mutability', detail)

/** Answers an error in the form of RFC 7644 §3.12. */
export function answerScimError(http: Context, error: ApiError): void {
  const scimType = scimTypes[error.code]
  http.status = error.status
  http.set({ ...error.headers, 'Cache-Control': 'no-store' })
  http.body = JSON.stringify({
    schemas: [schema],
    status: String(error.status),
    ...(scimType && { scimType }),
    detail: error.message,
  })
}

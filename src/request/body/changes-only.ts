import { isDeepStrictEqual } from 'node:util'

/** Whether a body gives exactly these fields, with these values. */
export const changesOnly = (body: object, fields: Record<string, unknown>): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(body)), fields)

import { isUuid } from '../crypto/uuid.ts'
import { notFound } from '../errors.ts'

/** The id in lower case. A malformed id is 404, like an unknown one. */
export function pathId(text: string | undefined): string {
  const id = (text ?? '').toLowerCase()
  if (!isUuid(id)) throw notFound()
  return id
}

import { z } from 'zod'
import type { oas31 } from 'zod-openapi'
import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { isNameOfAnother, setExternalId } from './subject-store.ts'

const maxLength = 128

/** What applications and directories call a person. */
export const externalId = z
  .string('Give external_id as text.')
  .transform((text) => text.trim())
  .refine((text) => text.length > 0, 'Give an external_id, or null for none.')
  .refine((text) => [...text].length <= maxLength, `An external_id can have at most ${maxLength} characters.`)
  .refine((text) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), 'An external_id cannot contain control characters.')

export const documentedExternalId: oas31.SchemaObject = {
  type: ['string', 'null'],
  minLength: 1,
  maxLength,
  description:
    'What your applications and directory call the person, compared exactly. A question names them by it, as by id or verified address. Takes policy:update',
}

export const nameTaken = () =>
  new ApiError(409, 'key_taken', 'Another member has this external_id, or it is their id or address.')

interface Named {
  tenantId: string
  memberId: string
  externalId: string | null
}

/**
 * Gives a member a name, or takes it away (null). Throws `refusal` if it is a name of another member: their id, their verified
 * address or their `external_id`. An address that another member verifies at the same moment can still equal it: then the
 * name fits two members, and no question finds either by it.
 */
export async function nameMember(tx: Tx, named: Named, refusal: () => Error = nameTaken): Promise<void> {
  const { tenantId, memberId, externalId: name } = named
  if (name !== null && (await isNameOfAnother(tx, tenantId, memberId, name))) throw refusal()
  setExternalId(tx, named, refusal)
}

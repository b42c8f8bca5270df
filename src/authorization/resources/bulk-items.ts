import { z } from 'zod'
import { ApiError, type FieldError } from '../../errors.ts'
import { validatorOf } from '../../request/body/validate-body.ts'
import { faultOf, type ResourceBody, resourceBody, resourceSchema } from './resource-schemas.ts'
import type { ResourceName } from './store.ts'

const maxItems = 1_000
/** The longest bodies in bytes. Names are shorter than resources. */
export const maxBulkBody = { put: 4 * 1024 * 1024, delete: 1024 * 1024 }

const nameShape = { type: z.string('Give the type as a text.'), id: z.string('Give the id as a text.') }

function checkName({ type, id }: { type: string; id: string }, context: z.RefinementCtx): void {
  const fault = faultOf({ resource_type: type, resource_id: id })
  if (!fault) return
  const path = [fault[0] === 'resource_type' ? 'type' : 'id']
  context.addIssue({ code: 'custom', path, message: fault[1] })
}

const itemToPut = z.object({ ...nameShape, ...resourceBody.shape }).superRefine(checkName)
const itemToDelete = z.object(nameShape).superRefine(checkName)

/** Items are validated one by one, so that a faulty one stands alone. OpenAPI has their schema. */
const listOf = (item: z.ZodType) => {
  const { $schema: _, ...described } = z.toJSONSchema(item, { io: 'input' })
  return z.object({
    resources: z
      .array(z.unknown().meta(described), 'Give resources as a list.')
      .min(1, 'Give at least one resource.')
      .max(maxItems, `Give at most ${maxItems} resources at a time.`),
  })
}

export const resourcesToPut = listOf(itemToPut).meta({ id: 'ResourceRegistrations' })
export const resourcesToDelete = listOf(itemToDelete).meta({ id: 'ResourceNames' })

/** What became of an item; `type` and `id` as they were sent, null where they are no texts. */
const resultOf = <const O extends readonly string[]>(allowed: O) =>
  z.object({
    results: z.array(
      z.object({
        type: z.string().nullable(),
        id: z.string().nullable(),
        outcome: z.enum(allowed),
        errors: z
          .array(z.object({ field: z.string(), code: z.string(), detail: z.string() }))
          .optional()
          .meta({ description: 'Of `invalid`: why. `field` is empty where it is about the whole resource' }),
      }),
    ),
  })

export const putResults = resultOf(['created', 'updated', 'unchanged', 'invalid']).meta({
  id: 'ResourceRegistrationResults',
})
export const deleteResults = resultOf(['deleted', 'absent', 'invalid']).meta({
  id: 'ResourceDeletionResults',
})

/** An item of a body, with its faults or its name and values. */
export type BulkItem = { type: string | null; id: string | null } & (
  | { faults: readonly FieldError[] }
  | { name: ResourceName; body: ResourceBody; json: string }
)

type Body = { resources: unknown[] }
const names = { answer: resourceSchema, isStrict: true }
const validated = { put: validatorOf(itemToPut, names), delete: validatorOf(itemToDelete, names) }

/** Reads the items in their order. Of two with one name the second is `duplicate`. */
export async function itemsOf(
  kind: keyof typeof validated,
  { resources }: Body,
  pace: () => Promise<void>,
): Promise<BulkItem[]> {
  const seen = new Set<string>()
  const items: BulkItem[] = []
  for (const sent of resources) {
    await pace()
    const item = itemOf(kind, sent)
    const key = 'name' in item ? JSON.stringify([item.type, item.id]) : null
    items.push(key !== null && seen.has(key) ? { ...item, faults: [duplicate] } : item)
    if (key !== null) seen.add(key)
  }
  return items
}

const duplicate = {
  field: 'id',
  code: 'duplicate',
  detail: 'An earlier item of this list has the same type and id.',
}

function itemOf(kind: keyof typeof validated, sent: unknown): BulkItem {
  const { type, id } = namedBy(sent)
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    return {
      type,
      id,
      faults: [{ field: '', code: 'invalid_type', detail: 'Give each resource as an object.' }],
    }
  try {
    const value = validated[kind](sent) as { type: string; id: string } & ResourceBody
    const body = {
      attributes: value.attributes ?? {},
      owner_id: value.owner_id ?? null,
      department_id: value.department_id ?? null,
    }
    const name = { resource_type: value.type, resource_id: value.id }
    return { type, id, name, body, json: JSON.stringify(body.attributes) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { type, id, faults: error.errors }
  }
}

function namedBy(sent: unknown): { type: string | null; id: string | null } {
  const { type, id } = (sent ?? {}) as Record<string, unknown>
  return { type: typeof type === 'string' ? type : null, id: typeof id === 'string' ? id : null }
}

/** The result of an item that is not changed, with why. */
export const invalid = ({ type, id }: Pick<BulkItem, 'type' | 'id'>, errors: readonly FieldError[]) => ({
  type,
  id,
  outcome: 'invalid' as const,
  errors: errors.map(({ field, code, detail }) => ({ field, code, detail })),
})

/** The error of an item that the caller may not change. */
export const refusedItem = ({ code, message }: ApiError): FieldError[] => [
  { field: '', code, detail: message },
]

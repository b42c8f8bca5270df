import { z } from 'zod'
import { maxCount } from './list-response.ts'
import { type Filter, parseFilter } from './resource/parse-filter.ts'

const defaultCount = 100

/** What of a resource to show. */
export const projectionQuery = z.object({
  attributes: z.string().optional(),
  excludedAttributes: z.string().optional(),
})

const whole = z
  .string()
  .regex(/^-?\d{1,9}$/, 'Give a whole number.')
  .transform(Number)

/** The query of a list (RFC 7644 §3.4.2). */
export const listQuery = projectionQuery.extend({
  filter: z.string().optional(),
  sortBy: z.string().optional(),
  sortOrder: z.string().optional(),
  startIndex: whole.optional(),
  count: whole.optional(),
})

const paths = z.union([z.string(), z.array(z.string()).transform((all) => all.join(','))]).optional()

/** The same as a body (RFC 7644 §3.4.3). */
export const searchBody = listQuery.extend({
  attributes: paths,
  excludedAttributes: paths,
  startIndex: z.int().optional(),
  count: z.int().optional(),
})

export type ListQuery = z.output<typeof listQuery>

/** What a list is asked for. `startIndex` begins at 1. */
export interface ListedBy {
  filter: Filter | null
  sortBy: string | null
  descending: boolean
  startIndex: number
  count: number
}

/** Reads what a list is asked for. Numbers out of their range are the nearest that are in it. 400 `invalid_filter`. */
export function readQuery({
  filter,
  sortBy,
  sortOrder,
  startIndex = 1,
  count = defaultCount,
}: ListQuery): ListedBy {
  return {
    filter: filter === undefined || filter.trim() === '' ? null : parseFilter(filter),
    sortBy: sortBy ?? null,
    descending: sortOrder?.toLowerCase() === 'descending',
    startIndex: Math.max(1, startIndex),
    count: Math.min(maxCount, Math.max(0, count)),
  }
}

const operation = z.object({
  op: z.string('Give op: add, replace or remove.'),
  path: z.string('Give path as text.').optional(),
  value: z.unknown().optional(),
})

/** The body of a PATCH (RFC 7644 §3.5.2). Names of members are compared without case. */
export const patchBody = z.preprocess(
  (body) =>
    Object.fromEntries(
      Object.entries(body ?? {}).map(([name, value]) => [
        /^operations$/i.test(name) ? 'Operations' : name,
        value,
      ]),
    ),
  z.object({ Operations: z.array(operation, 'Give Operations as a list.').min(1).max(1_000) }),
)

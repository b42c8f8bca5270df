import { z } from 'zod'
import type { FieldError } from '../../errors.ts'
import type { DecisionPace } from '../../limits/decision-time.ts'
import { fieldErrors } from '../../request/body/field-errors.ts'
import { anyObject } from '../../request/body/schemas.ts'
import { bytesOf, checkBytes, type Evaluation, evaluationSchema } from './evaluation.ts'

/** When a batch stops (AuthZEN 1.0 §7.1.2.1): never, after the first denial, or after the first permission. */
const semantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const
export type Semantic = (typeof semantics)[number]

const part = (what: string) =>
  anyObject(`Give ${what} as an object.`).optional().meta({
    description: 'For the items that have none of their own',
  })

const maxItems = 1_000
const maxWholeBytes = 2 * 1024 * 1024

const batch = z.object({
  subject: part('subject'),
  action: part('action'),
  resource: part('resource'),
  context: part('context'),
  evaluations: z
    .array(z.unknown(), 'Give evaluations as a list.')
    .max(maxItems, `Ask at most ${maxItems} questions at a time.`)
    .optional()
    .meta({
      description: `At most ${maxItems} questions. Absent or empty: the members above are one question`,
    }),
  options: z
    .object(
      {
        evaluations_semantic: z
          .enum(semantics, `evaluations_semantic is ${semantics.join(', ')}.`)
          .default('execute_all'),
      },
      'Give options as an object.',
    )
    .default({ evaluations_semantic: 'execute_all' }),
})

export type Batch = z.output<typeof batch>

/** Several evaluations (AuthZEN 1.0 §7.1), or one in the form of `evaluationSchema`. */
export const batchSchema = batch
  .superRefine((body, context) => {
    if (isBatch(body)) {
      const { evaluations = [], options: _options, ...defaults } = body
      checkBytes(defaults, context, 'The members at the top can have 32 KiB')
      // Every item can contain the defaults again.
      const bytes = bytesOf(defaults) * evaluations.length + bytesOf(evaluations)
      if (bytes > maxWholeBytes)
        context.addIssue({
          code: 'custom',
          path: ['evaluations'],
          message: `The questions of a batch can have 2 MiB together, with the members at the top in each of them. These have ${bytes} bytes.`,
        })
      return
    }
    for (const issue of evaluationSchema.safeParse(body).error?.issues ?? [])
      context.addIssue({ code: 'custom', path: issue.path, message: issue.message })
  })
  .meta({ id: 'EvaluationsRequest' })

/** Whether a body asks several evaluations. */
const isBatch = ({ evaluations = [] }: Batch): boolean => evaluations.length > 0

/** An item of a batch: an evaluation, or what is wrong with it. */
export type Item = { evaluation: Evaluation } | { faults: FieldError[] }

/** The items of a batch in their order. Their validation can take 20 ms, so it yields to the event loop. */
export async function itemsOf(body: Batch, pace: DecisionPace): Promise<Item[]> {
  const { evaluations = [], options: _options, ...defaults } = body
  const items: Item[] = []
  for (const item of evaluations) {
    await pace.next()
    items.push(itemOf(item, defaults))
  }
  return items
}

/** The evaluation of a body that asks no others. */
export function singleOf(body: Batch): Evaluation | undefined {
  const { evaluations: _evaluations, options: _options, ...evaluation } = body
  return isBatch(body) ? undefined : evaluationSchema.parse(evaluation)
}

type Defaults = Pick<Batch, 'subject' | 'action' | 'resource' | 'context'>

function itemOf(item: unknown, defaults: Defaults): Item {
  if (!isObject(item))
    return { faults: [{ field: '', code: 'invalid_type', detail: 'Give each question as an object.' }] }
  const asked = {
    subject: typed(item.subject, defaults.subject),
    action: item.action === undefined ? defaults.action : item.action,
    resource: typed(item.resource, defaults.resource),
    context: item.context === undefined ? defaults.context : item.context,
  }
  const { success, data, error } = evaluationSchema.safeParse(asked)
  return success ? { evaluation: data } : { faults: fieldErrors(error, asked) }
}

/**
 * An item's own subject or resource replaces the default as a whole, also a null, which is a fault then. Only a missing
 * type comes from the default, as the certification of AuthZEN requires, so that an evaluation never is about an object
 * that its item does not name.
 */
function typed(own: unknown, usual: Record<string, unknown> | undefined): unknown {
  if (own === undefined) return usual
  return isObject(own) && own.type === undefined && usual ? { ...own, type: usual.type } : own
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

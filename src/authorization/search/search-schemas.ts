import { z } from 'zod'
import {
  actionEntity,
  bytesOf,
  checkBytes,
  entity,
  evaluationContext,
  maxBytes,
  properties,
  text,
} from '../evaluation/evaluation.ts'

const maxLimit = 100
const maxCandidates = 1_000

const page = z
  .object(
    {
      token: z
        .string('Give page.token as text.')
        .max(2_000, 'This is not a page token.')
        .optional()
        .meta({ description: '`page.next_token` of the answer before; empty for the first page' }),
      limit: z
        .int('Give page.limit as a whole number.')
        .min(1, 'page.limit has to be at least 1.')
        .transform((limit) => Math.min(limit, maxLimit))
        .default(50)
        .meta({
          description: `Results per page; more than ${maxLimit} gives ${maxLimit}`,
          override: { type: 'integer', minimum: 1, default: 50 },
        }),
    },
    'Give page as an object.',
  )
  .default({ limit: 50 })

const candidate = z.object({ id: text('id', 254), properties }, 'Give each candidate as an object.')
export type Candidate = z.output<typeof candidate>

/** The entity that is searched for. An `id` is ignored, as AuthZEN 1.0 requires. */
const searched = (what: string) =>
  z.object(
    {
      type: text(`${what}.type`, 128),
      properties,
      candidates: z
        .array(candidate, 'Give candidates as a list.')
        .max(maxCandidates, `Name at most ${maxCandidates} candidates.`)
        .optional()
        .meta({
          description: `For a type of your application: up to ${maxCandidates} entities to search among`,
        }),
    },
    `Give ${what} as an object.`,
  )

type Searched = { type: string; candidates?: readonly unknown[] | undefined }

/**
 * The body of a search is one evaluation, and each of its candidates is asked about with what the body says: so the body
 * without its candidates has the size of an evaluation, and each candidate has, too.
 */
function checkSize(
  { page: _page, ...body }: { subject: Searched; resource: Searched; page: unknown },
  context: z.core.$RefinementCtx,
): void {
  const without = ({ candidates: _candidates, ...part }: Searched) => part
  const evaluation = { ...body, subject: without(body.subject), resource: without(body.resource) }
  checkBytes(evaluation, context, 'A search without its candidates can have 32 KiB')
  for (const side of ['subject', 'resource'] as const)
    for (const [index, candidate] of (body[side].candidates ?? []).entries()) {
      const bytes = bytesOf(candidate)
      if (bytes <= maxBytes) continue
      const message = `A candidate can have 32 KiB at most, and this one has ${bytes} bytes.`
      context.addIssue({ code: 'custom', path: [side, 'candidates', index], message })
    }
}

export const subjectSearch = z
  .object({
    subject: searched('subject'),
    action: actionEntity,
    resource: entity('resource'),
    context: evaluationContext,
    page,
  })
  .superRefine(checkSize)
  .meta({ id: 'SubjectSearch' })

export const resourceSearch = z
  .object({
    subject: entity('subject'),
    action: actionEntity,
    resource: searched('resource'),
    context: evaluationContext,
    page,
  })
  .superRefine(checkSize)
  .meta({ id: 'ResourceSearch' })

export const actionSearch = z
  .object({ subject: entity('subject'), resource: entity('resource'), context: evaluationContext, page })
  .superRefine(checkSize)
  .meta({ id: 'ActionSearch' })

export type SubjectSearch = z.output<typeof subjectSearch>
export type ResourceSearch = z.output<typeof resourceSearch>
export type ActionSearch = z.output<typeof actionSearch>

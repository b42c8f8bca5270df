import { z } from 'zod'
import { hashFault } from '../../crypto/foreign-hashes.ts'
import { roleNames } from '../../tenancy/members/member-schemas.ts'
import { externalId } from '../../tenancy/members/name-member.ts'
import { emailAddress, personName } from '../person.ts'

const membership = z.strictObject({
  tenant: z
    .string('Give the id or the slug of the tenant as text.')
    .min(1, 'Give the id or the slug of the tenant.')
    .max(100),
  roles: roleNames,
  external_id: externalId.optional(),
})

/** One person of a file for `users:import`. */
export const importRow = z.strictObject({
  id: z
    .string('Give the id that the person has in the file as text.')
    .min(1, 'Give the id that the person has in the file.')
    .max(200, 'An id can have 200 characters at most.'),
  email: emailAddress,
  email_verified: z.boolean('Give email_verified as true or false.').default(false),
  first_name: personName.default(''),
  last_name: personName.default(''),
  password_hash: z
    .string('Give the hash as text.')
    .max(2_000, 'A hash can have 2,000 characters at most.')
    .superRefine((text, context) => {
      const fault = hashFault(text)
      if (fault) context.addIssue({ code: 'custom', message: `The hash ${fault}.` })
    })
    .optional(),
  totp_secret: z
    .string('Give the secret as text.')
    .transform((text) => text.replace(/[\s=-]/g, '').toUpperCase())
    .refine(
      (text) => /^[A-Z2-7]{16,128}$/.test(text),
      'Give the secret in base32, with 16 to 128 characters.',
    )
    .optional(),
  memberships: z
    .array(membership, 'Give the memberships as a list.')
    .max(100, 'A person can have 100 memberships at most in a file.')
    .default([]),
})

export type ImportRow = z.output<typeof importRow>

/** A row with the number of its line in the file (or of the entry in the export). */
export interface NumberedRow {
  line: number
  row: ImportRow
}

/** Why a line cannot be imported, in the form `line 3, email: …`. It repeats no value: it could be a secret. */
export class LineFault extends Error {
  readonly line: number
  readonly field: string
  readonly code: string

  constructor(line: number, field: string, message: string, code = 'invalid') {
    super(`line ${line}, ${field}: ${message}`)
    this.line = line
    this.field = field
    this.code = code
  }
}

/** What can stand in a line that a reader of an export made: the names are those of {@link importRow}. */
export type RawRow = z.input<typeof importRow>

/** Checks a line; its faults in place of a row. */
export function readRow(line: number, raw: unknown): NumberedRow | LineFault[] {
  const read = importRow.safeParse(raw)
  if (read.success) return { line, row: read.data }
  return read.error.issues.map(
    (issue) => new LineFault(line, nameOf(issue.path, issue), sentence(issue), 'invalid'),
  )
}

const nameOf = (path: readonly PropertyKey[], issue: z.core.$ZodIssue): string =>
  [...path, ...(issue.code === 'unrecognized_keys' ? [issue.keys[0]!] : [])].map(String).join('.') || 'line'

const sentence = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys' ? 'there is no such field' : issue.message.replace(/\.$/, '')

import { z } from 'zod'
import { emailAddress } from '../../messages/mail/email-address.ts'
import { longestMessage } from '../../messages/mail/free-text.ts'
import { written } from '../../request/body/known-members.ts'
import { bodyId, rfc3339, timestamp } from '../../request/body/schemas.ts'
import { roleNames, roleReference } from '../members/member-schemas.ts'
import { documentedExternalId, externalId } from '../members/name-member.ts'
import { type InvitationRow, invitationStatus, type ReceivedRow } from './store.ts'

export const invitationSchema = z
  .object({
    id: z.uuid(),
    email: z.string(),
    roles: z.array(z.string()),
    department_id: z.uuid().nullable(),
    external_id: z.string().nullable().meta({ description: 'That of the membership, once it is accepted' }),
    status: invitationStatus,
    invited_by: z.object({ id: z.uuid(), email: z.string() }),
    message: z.string(),
    expires_at: timestamp,
    created_at: timestamp,
    accepted_at: timestamp.nullable(),
    accepted_by: z.uuid().nullable(),
    send_count: z.int(),
  })
  .meta({ id: 'Invitation' })

export const showInvitation = (row: InvitationRow) => ({
  id: row.id,
  email: row.email,
  roles: row.roles,
  department_id: row.department_id,
  external_id: row.external_id,
  status: row.status,
  invited_by: { id: row.invited_by, email: row.invited_by_email },
  message: row.message,
  expires_at: rfc3339(row.expires_at),
  created_at: rfc3339(row.created_at),
  accepted_at: row.accepted_at === null ? null : rfc3339(row.accepted_at),
  accepted_by: row.accepted_by,
  send_count: row.send_count,
})

/** An invitation as shown to its recipient. */
export const receivedSchema = invitationSchema
  .extend({ tenant: z.object({ id: z.uuid(), name: z.string(), slug: z.string() }) })
  .meta({ id: 'ReceivedInvitation' })

export const showReceived = (row: ReceivedRow) => ({
  ...showInvitation(row),
  tenant: { id: row.tenant_id, name: row.tenant_name, slug: row.tenant_slug },
})

const message = z
  .string('Give the message as text.')
  .refine((text) => [...text].length <= 1000, 'A message can have at most 1000 characters.')

const newInvitationBody = z
  .object({
    email: emailAddress,
    roles: roleNames.optional(),
    role: roleReference.optional(),
    department_id: bodyId.nullable().default(null),
    external_id: externalId.nullable().default(null),
    message: message.nullish().transform((text) => text ?? ''),
  })
  .transform(({ roles, role, ...rest }) => ({ ...rest, roles: roles ?? [role ?? 'member'] }))
  .meta({
    override: {
      type: 'object',
      required: ['email'],
      properties: {
        email: { type: 'string', format: 'email' },
        roles: { type: 'array', items: { type: 'string' }, default: ['member'], description: 'Names or ids' },
        role: { type: 'string', description: 'One role, instead of `roles`' },
        department_id: { type: ['string', 'null'], format: 'uuid' },
        external_id: documentedExternalId,
        message: {
          type: 'string',
          maxLength: 1000,
          description: `The mail contains the first ${longestMessage} characters`,
        },
      },
    },
  })

/** It expires when the service says, so `expires_at` cannot be sent back. */
export const newInvitation = written(newInvitationBody, {
  shownAs: invitationSchema.omit({ expires_at: true, status: true }),
})

export type NewInvitation = z.output<typeof newInvitation>

/** An invitation as a resource in policies. */
export const invitationResource = (invitation: InvitationRow) => ({
  type: 'invitation',
  id: invitation.id,
  ownerId: invitation.invited_by,
  fields: showInvitation(invitation),
})

import { invalidField } from '../../errors.ts'
import { normaliseEmail } from '../../messages/mail/email-address.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { externalId as externalIdForm } from '../../tenancy/members/name-member.ts'
import type { Json } from '../resource/attribute-value.ts'
import { userType, userUrn } from '../schema/attributes.ts'
import type { UserRow } from './store.ts'

/** A User as a directory describes it. */
export interface Described {
  userName: string
  displayName: string
  /** Normalised; null for a User without an address. */
  email: string | null
  externalId: string | null
  active: boolean
  firstName: string
  lastName: string
  document: Record<string, unknown>
}

const maxDocument = 32_768

/** What a directory sent last; of a member whom none has described yet, that they are active. */
export const wasSentActive = ({ active }: UserRow): boolean => active ?? true

/** Whether a member, or a User that waits, is active. */
export const isActive = ({ user_id, status, is_active, active }: UserRow): boolean =>
  user_id === null ? (active ?? false) : status === 'active' && is_active !== false

/** What a directory holds of a User, without id and `meta`, as a PATCH changes it. */
export function resourceOf(row: UserRow): Json {
  const { id, external_id, email, email_verified: isProven } = row
  return {
    userName: row.user_name ?? (isProven ? email : id),
    ...(external_id !== null && { externalId: external_id }),
    ...(row.document ?? documentOf(row)),
    active: wasSentActive(row),
  }
}

/** What a directory would say of a member whom none has described yet. An address that they have not proven can be that of another person. */
function documentOf({ first_name, last_name, email, email_verified: isProven }: UserRow): Json {
  const formatted = `${first_name} ${last_name}`.trim()
  return {
    name: {
      ...(formatted && { formatted }),
      ...(first_name && { givenName: first_name }),
      ...(last_name && { familyName: last_name }),
    },
    ...(formatted && { displayName: formatted }),
    ...(isProven && { emails: [{ value: email, type: 'work', primary: true }] }),
  }
}

/** A User as SCIM shows it; `base` is the address of `/scim/v2`. */
export function showUser(row: UserRow, base: string): Json {
  const resource = resourceOf(row)
  const extended = userType.extensions.map(({ id }) => id).filter((urn) => resource[urn])
  return {
    schemas: [userUrn, ...extended],
    id: row.id,
    ...resource,
    active: isActive(row),
    ...(row.groups.length > 0 && {
      groups: row.groups.map(({ id, name }) => ({
        value: id,
        $ref: `${base}/Groups/${id}`,
        display: name,
        type: 'direct',
      })),
    }),
    meta: {
      resourceType: 'User',
      created: rfc3339(row.created_at),
      lastModified: rfc3339(row.updated_at),
      location: `${base}/Users/${row.id}`,
      version: `W/"${row.version}"`,
    },
  }
}

/** Reads what the service stores of a User apart. 400 `validation_error`. */
export function describeUser(resource: Json): Described {
  const { userName, externalId, active = true, ...document } = resource
  if (typeof userName !== 'string' || userName.trim() === '')
    throw invalidField('userName', 'Give a userName.')
  if (userName.length > 256) throw invalidField('userName', 'A userName can have at most 256 characters.')
  if (JSON.stringify(document).length > maxDocument)
    throw invalidField('User', `A User can have at most ${maxDocument} characters of JSON.`)
  const { givenName = '', familyName = '', formatted = '' } = document.name ?? {}
  const displayName: string =
    document.displayName || formatted || `${givenName} ${familyName}`.trim() || userName
  return {
    userName,
    displayName: displayName.slice(0, 1_024),
    email: emailOf(userName, document.emails ?? []),
    externalId: externalId === undefined ? null : externalIdOf(externalId),
    active,
    firstName: givenName.slice(0, 150),
    lastName: familyName.slice(0, 150),
    document,
  }
}

/** The primary address, else the first, else the name if it is one. */
function emailOf(userName: string, emails: Json[]): string | null {
  const given = (emails.find(({ primary }) => primary) ?? emails[0])?.value
  if (given === undefined) return normaliseEmail(userName)
  const email = normaliseEmail(given)
  if (email === null) throw invalidField('emails', `${String(given).slice(0, 200)} is no e-mail address.`)
  return email
}

function externalIdOf(text: string): string {
  const result = externalIdForm.safeParse(text)
  if (!result.success) throw invalidField('externalId', result.error.issues[0]!.message)
  return result.data
}

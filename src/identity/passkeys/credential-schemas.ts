import { z } from 'zod'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import type { PasskeyRow } from './store.ts'

/** Bytes in base64url without padding; `max` is the number of bytes. */
const bytes = (max: number, name: string) =>
  z
    .string(`Give ${name} as base64url text.`)
    .min(1, `Give ${name}.`)
    .max(Math.ceil((max * 4) / 3), `${name} may have ${max} bytes at most.`)
    .regex(/^[A-Za-z0-9_-]+$/, `${name} must be base64url without padding.`)

const credentialId = bytes(1_023, 'the credential id')
const clientData = bytes(2_048, 'clientDataJSON')

const common = {
  id: credentialId,
  rawId: credentialId,
  type: z.literal('public-key', 'The type of a passkey is public-key.'),
}

const transport = z.string('Give a transport as text.').regex(/^[a-z0-9-]{1,32}$/, 'This is no transport.')

/** `PublicKeyCredential.toJSON()` of a new passkey. Members that the service does not use are ignored. */
export const newCredential = z
  .object({
    ...common,
    response: z.object({
      clientDataJSON: clientData,
      attestationObject: bytes(6_144, 'attestationObject'),
      transports: z.array(transport).max(10, 'A passkey has 10 transports at most.').default([]),
    }),
  })
  .meta({ description: 'PublicKeyCredential.toJSON() of navigator.credentials.create()' })

/** `PublicKeyCredential.toJSON()` of a used passkey. */
export const usedCredential = z
  .object({
    ...common,
    response: z.object({
      clientDataJSON: clientData,
      authenticatorData: bytes(2_048, 'authenticatorData'),
      signature: bytes(1_024, 'the signature'),
      userHandle: bytes(64, 'userHandle').nullish(),
    }),
  })
  .meta({ description: 'PublicKeyCredential.toJSON() of navigator.credentials.get()' })

export type NewCredential = z.output<typeof newCredential>
export type UsedCredential = z.output<typeof usedCredential>

const descriptor = z.object({
  id: z.string(),
  type: z.literal('public-key'),
  transports: z.array(z.string()).optional(),
})

const challenge = z.string().meta({ description: 'Base64url; works once, within 5 minutes' })
const timeout = z.int().meta({ description: 'Milliseconds' })

/** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export const creationOptions = z
  .object({
    challenge,
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
    timeout,
    attestation: z.literal('none'),
    excludeCredentials: z.array(descriptor),
    authenticatorSelection: z.object({
      residentKey: z.literal('required'),
      requireResidentKey: z.literal(true),
      userVerification: z.literal('required'),
    }),
  })
  .meta({ id: 'PasskeyCreationOptions' })

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`. */
export const requestOptions = z
  .object({
    challenge,
    rpId: z.string(),
    timeout,
    userVerification: z.literal('required'),
    allowCredentials: z.array(descriptor),
  })
  .meta({ id: 'PasskeyRequestOptions' })

/** The name that a person gives a passkey. */
export const passkeyName = z
  .string('Give the name as text.')
  .trim()
  .min(1, 'Give a name.')
  .max(120, 'A name may have 120 characters at most.')
  .meta({ example: 'Laptop' })

/** A passkey as its owner sees it. */
export const passkeySchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    transports: z.array(z.string()),
    backed_up: z.boolean().meta({ description: 'The authenticator syncs it to other devices' }),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'Passkey' })

export const toJsonPasskey = (row: PasskeyRow) => ({
  ...row,
  created_at: rfc3339(row.created_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
})

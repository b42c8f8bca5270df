import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { base62, base62OfUuid, uuidOfBase62 } from '../../crypto/base62.ts'
import { nilUuid } from '../../crypto/uuid.ts'
import { notFound } from '../../errors.ts'

// The id of a client is `bwa_` and, in base 62, the ids of its tenant and of its row. So the row is found within its tenant,
// by row-level security. In base 62 alone, an id and a secret are the same text in every encoding of RFC 6749 §2.3.1.
// A client of a manifest is of no tenant: its id has the nil UUID. The id of its row has the version 8 (RFC 9562 §5.8), those of
// tenants have 7, so both are never the same.

const form = /^bwa_([0-9A-Za-z]{22})([0-9A-Za-z]{22})$/

/** Names a row of a client. Of a manifest's client, the tenant is that of the person who signs in, or the nil UUID. */
export interface ClientKey {
  tenantId: string
  id: string
}

export const clientIdOf = ({ tenantId, id }: ClientKey): string =>
  `bwa_${base62OfUuid(isOfManifest(id) ? nilUuid : tenantId)}${base62OfUuid(id)}`

/** The id of the row of a manifest's client. It is the same in each installation. */
export function manifestRowId(application: string, key: string): string {
  const digits = hash('sha256', `${application}/${key}`)
  return digits.slice(0, 32).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-8$3-8$4-$5')
}

/** Whether the row of a client is one of a manifest. */
export const isOfManifest = (id: string): boolean => id[14] === '8'

/** The row that an id of a client names; null for a text that is none. */
export function readClientId(text: string): ClientKey | null {
  const [, tenant = '', row = ''] = form.exec(text) ?? []
  const [tenantId, id] = [tenant, row].map((part) => part && uuidOfBase62(part))
  // A manifest's client has one id, in whatever tenant its person is.
  return tenantId && id && (tenantId === nilUuid || !isOfManifest(id)) ? { tenantId, id } : null
}

/** The row of the path. 404 for another tenant's, and for a text that is no id. */
export function pathClient(tenantId: string, text: string | undefined): ClientKey {
  const key = readClientId(text ?? '')
  if (key?.tenantId !== tenantId) throw notFound()
  return key
}

/** The id of a client, as it is. 404 for a text that is none. */
export function checkedClientId(text = ''): string {
  if (!readClientId(text)) throw notFound()
  return text
}

/** A new secret, `bws_` with 256 random bits and a CRC-32, and the SHA-256 of it to store. */
export function makeSecret(): { secret: string; hash: Buffer } {
  const body = `bws_${base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)}`
  const secret = body + base62(BigInt(crc32(body)), 6)
  return { secret, hash: hashOfSecret(secret) }
}

export const hashOfSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

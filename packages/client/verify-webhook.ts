import type { Event } from './api-types.ts'

/** The request is not from the service, was changed on its way, or is too old. */
export class WebhookNotValid extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WebhookNotValid'
  }
}

export interface SignedRequest {
  /** The headers of the request: `Headers`, or an object with names in lower case. */
  headers: Headers | Readonly<Record<string, string | string[] | undefined>>
  /** The body as it came, before any parser. */
  body: string | Uint8Array
  /** The secret of the webhook (`whsec_…`), or several while one replaces another. */
  secret: string | readonly string[]
  /** How many seconds the request can be off; 300 if absent. */
  toleranceSeconds?: number
}

/**
 * The event of a webhook's request, typed by `type`. Throws {@link WebhookNotValid}, unless one of the secrets signed the
 * request in the last five minutes (Standard Webhooks). An event can come twice: ignore ids that you have handled.
 */
export async function verifyWebhook({
  headers,
  body,
  secret,
  toleranceSeconds = 300,
}: SignedRequest): Promise<Event> {
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const age = Math.abs(Date.now() / 1000 - (/^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN))
  if (!(age <= toleranceSeconds))
    throw new WebhookNotValid('The request is too old, or the clocks differ: webhook-timestamp.')
  const signed = joined(encode(`${id}.${timestamp}.`), typeof body === 'string' ? encode(body) : body)
  const signatures = headerOf(headers, 'webhook-signature').split(' ').slice(0, maxSignatures)
  for (const key of await Promise.all([secret].flat().map(keyOf)))
    for (const signature of signatures)
      if (await isSignedBy(key, signature, signed))
        return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body))
  throw new WebhookNotValid('The signature is not of this webhook: webhook-signature.')
}

// The service sends one for each valid secret, at most two.
const maxSignatures = 8
/** Not `CryptoKey`, which not every runtime declares. */
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const hmac = { name: 'HMAC', hash: 'SHA-256' }

const encode = (text: string) => new TextEncoder().encode(text)

function headerOf(headers: SignedRequest['headers'], name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : headers[name]
  if (typeof value === 'string' && value !== '') return value
  throw new WebhookNotValid(`The request has no header ${name}.`)
}

// Not `instanceof`: a framework can have a class of its own.
const isHeaders = (headers: SignedRequest['headers']): headers is Headers => typeof headers.get === 'function'

function joined(head: Uint8Array, rest: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(head.length + rest.length)
  whole.set(head)
  whole.set(rest, head.length)
  return whole
}

/** Throws a TypeError for a text that is no secret: a mistake of the receiver, not of the request. */
function keyOf(secret: string): Promise<Key> {
  const bytes = secret.startsWith('whsec_') ? bytesOf(secret.slice('whsec_'.length)) : null
  if (!bytes?.length) throw new TypeError('The secret of a webhook is whsec_ and base64.')
  return crypto.subtle.importKey('raw', bytes, hmac, false, ['verify'])
}

/** WebCrypto compares signatures in constant time. */
async function isSignedBy(key: Key, signature: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const [version, text = ''] = signature.split(',', 2)
  const bytes = version === 'v1' ? bytesOf(text) : null
  return bytes !== null && crypto.subtle.verify(hmac, key, bytes, signed)
}

/** The bytes of a base64 text, or null. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))
  } catch {
    return null
  }
}

import { createHmac } from 'node:crypto'

/** What is signed: the id of the event, when it is sent (seconds since 1970), and the body as it is sent. */
export interface Signed {
  id: string
  timestamp: number
  body: string
}

const prefix = 'whsec_'

/**
 * The value of `webhook-signature` (Standard Webhooks): for each secret, `v1,` and the base64 of HMAC-SHA256 over
 * id.timestamp.body, one after the other with a space between. Secrets are `whsec_` and base64.
 */
export function signWebhook(secrets: readonly string[], { id, timestamp, body }: Signed): string {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return signatures.join(' ')
}

import type { Sealer } from '../../crypto/seal.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { enqueue } from '../outbox/enqueue.ts'
import { timeOrderedId } from '../outbox/time-ordered-id.ts'
import { isUnreachable } from './email-address.ts'
import { type TemplateName, templates, type Variables } from './templates.ts'

/** A mail to send: `to` is one address without a name, `at` is in ms since 1970. */
export interface NewMail<Name extends TemplateName> {
  tenantId: string
  to: string
  template: Name
  variables: Variables<Name>
  /** The request that caused the mail. Its languages count where the reader's own is not known. */
  requestInfo?: Pick<RequestInfo, 'requestId' | 'languages'>
  at: number
}

/**
 * Queues a mail on the queue of its template. It is sent after the caller's transaction commits; gives its id. Address and variables are stored
 * encrypted, because they contain tokens and codes, and are erased as soon as the mail is sent. A keyed hash of the address
 * stays, so that an operator who knows the address finds the mail. No mail is queued for
 * an unreachable address.
 */
export async function sendMail<Name extends TemplateName>(
  tx: Tx,
  sealer: Sealer,
  mail: NewMail<Name>,
): Promise<string> {
  const { tenantId, to, template, at, requestInfo } = mail
  const id = timeOrderedId(at)
  const variables = templates[template].variables.parse(mail.variables)
  if (isUnreachable(to)) return id
  const content = sealer.seal(
    'mail',
    JSON.stringify({ to, variables, languages: requestInfo?.languages || undefined }),
    id,
  )
  const recipient = sealer.mac('mail-recipient', to.toLowerCase())
  tx.later(sql.unsafe`
    insert into mails (tenant_id, id, template, content_sealed, recipient, created_at)
    values (${tenantId}, ${id}, ${template}, ${sql.binary(content)}, ${sql.binary(recipient)}, ${instant(at)})`)
  await enqueue(
    tx,
    templates[template].queue,
    tenantId,
    { v: 1, mail_id: id, request_id: requestInfo?.requestId },
    at,
  )
  return id
}

import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { clientIdOf } from '../clients/client-id.ts'
import type { OidcContext } from '../provider-types.ts'
import { ownClient } from '../tenant-of-request.ts'

/** Tells the tenant that its policies denied an application to a person. */
export async function recordDenial(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  ctx: OidcContext,
  { userId, decisionId }: { userId: string; decisionId: string },
): Promise<void> {
  const client = ownClient(ctx)
  await asSystem(db, 'an authorization is of the browser, in the tenant of a client', (tx) =>
    appendEvent(tx, {
      type: 'application.authorization_denied',
      tenantId: client.tenantId,
      subject: client.id,
      data: { client_id: clientIdOf(client), user_id: userId, decision_id: decisionId },
      actorId: userId,
      requestId: ctx.state.requestInfo.requestId as string,
      at: clock(),
    }),
  )
}

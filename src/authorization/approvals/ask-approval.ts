import { randomUUIDv7 } from 'node:crypto'
import { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import { Found } from '../../request/answer/etag.ts'
import { deniedBecause, refusal } from '../../request/answer/refusal.ts'
import { written } from '../../request/body/known-members.ts'
import type { Caller, ResourceOf } from '../../request/caller.ts'
import { evaluationDecider } from '../evaluation/decide-evaluation.ts'
import { accessResource } from '../evaluation/evaluate.ts'
import {
  actionEntity,
  bytesOf,
  checkBytes,
  type Evaluation,
  entity,
  evaluationContext,
  text,
} from '../evaluation/evaluation.ts'
import { type Entities, loadEvaluations } from '../evaluation/load-evaluations.ts'
import type { KnownSubject } from '../evaluation/store.ts'
import { type BoundEvaluation, bindEvaluation } from './bind-evaluation.ts'
import { openRequest } from './open-request.ts'
import { contextOf } from './record-transition.ts'
import { showRequest } from './show-request.ts'
import { findRequest, gatesOf } from './store.ts'
import type { RequestKey } from './transition-store.ts'

const named = (action: string | z.output<typeof actionEntity>) =>
  typeof action === 'string' ? { name: action } : action

/** An evaluation as an application asks it for an approval. */
const evaluation = z
  .object({
    action: z.union(
      [text('action', 127), actionEntity],
      'Give action as resource:verb, or as an object with its name.',
    ),
    resource: entity('resource'),
    subject: entity('subject').optional().meta({ description: 'Who would act; you, if it is absent' }),
    context: evaluationContext,
    message: z
      .string('Give the message as text.')
      .max(1000, 'A message can have 1000 characters at most.')
      .default('')
      .meta({ description: 'For the approvers' }),
  })
  .superRefine((body, context) => checkBytes(body, context))
  .meta({ id: 'ApprovalQuestion' })

/** It cannot say when the request expires, or what is needed: nothing of the answer can be sent. */
export const askBody = written(evaluation, { shownAs: z.object({}) })

type AskBody = z.output<typeof askBody>

/** The evaluation that the body asks. */
export const evaluationIn = (
  { action, resource, subject, context }: AskBody,
  { userId: id, subjectType: type }: Pick<Caller, 'userId' | 'subjectType'>,
): Evaluation => ({ subject: subject ?? { type, id }, action: named(action), resource, context })

/** A request about a subject, which is the caller's own only if they may ask about the subject. */
export const ownIfAskable = (caller: Caller, known: Pick<KnownSubject, 'id'> | null): ResourceOf => {
  const maySpeak =
    known?.id === caller.userId || caller.readerBy('access:evaluate')(accessResource(known)) !== null
  return { type: 'approval_request', ownerId: maySpeak ? caller.userId : (known?.id ?? null) }
}

/** An evaluation that an approval can answer. */
export interface Approvable {
  key: RequestKey
  decision: Decision
  decisionId: string
  bound: BoundEvaluation
}

const maxBytes = 16 * 1024

/**
 * Decides the evaluation, and binds it to what its gates read. Throws 403 for a denial, 409 `invalid_state` with the
 * effect for what is allowed without an approval, 400 for an action of the service, and 413 if the policies read too
 * much of it.
 */
export async function decideApprovable(
  deps: Deps,
  caller: Caller,
  entities: Entities,
  evaluation: Evaluation,
): Promise<Approvable> {
  const loaded = await loadEvaluations(deps, caller, entities, [evaluation])
  const { policies } = loaded
  const one = loaded.evaluations[0]!
  if (isServiceAction(one.action)) throw notOfApplication()
  const { query, decision, kind } = evaluationDecider(deps, caller, policies)(one)
  const decisionId = randomUUIDv7()
  await deps.decisionLog.record({ id: decisionId, query, decision, kind, keep: 'always' })
  if (decision.effect === 'deny') throw refusal(decision, query.action, decisionId)
  if (decision.effect === 'allow') throw notNeeded(decisionId)
  const bound = 'application' in query ? bindEvaluation(query, policies, gatesOf(decision)) : null
  if (!bound) throw new Error('A decision names a gate that is not in force')
  if (bytesOf({ ...bound.read, ...bound.kept }) > maxBytes) throw tooLarge()
  return { key: keyOf(caller, one.known, evaluation, query, bound), decision, decisionId, bound }
}

function keyOf(
  { tenantId, userId: requesterId }: Caller,
  known: KnownSubject | null,
  { subject }: Evaluation,
  { action, resource }: AnyQuery,
  { digest }: BoundEvaluation,
): RequestKey {
  const email = known?.emailVerified ? known.email || null : null
  return {
    kind: 'application',
    tenantId,
    requesterId,
    subject: { type: subject.type, id: known?.id ?? subject.id, email, accountId: known?.id ?? null },
    action,
    resourceType: resource.type,
    resourceId: resource.id,
    digest,
  }
}

/** Opens the request, or finds the open one that asks the same. 403 if too few members can decide it. */
export async function askApproval(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { key, decision, decisionId, bound }: Approvable,
  message: string,
) {
  const { user } = caller.auth
  const at = deps.clock()
  const opened = await openRequest(tx, deps, {
    key,
    decision,
    change: contextOf(caller, at),
    requester: user.email || user.firstName,
    object: `${key.resourceType} ${key.resourceId ?? ''}`,
    needed: 1,
    shown: {
      requesterEmail: user.email,
      context: { ...bound.read, decision_id: decisionId },
      kept: bound.kept,
      message,
    },
  })
  if (!opened) throw refusal(deniedBecause('no_eligible_approver', decision), key.action, decisionId)
  const request = await findRequest(tx, caller.tenantId, opened.open.id, at)
  if (!request) throw new Error('An open request is not there')
  const shown = showRequest(request, caller)
  return opened.isNew ? shown : new Found(shown)
}

const notOfApplication = () =>
  invalidField(
    'action',
    'This is an action of the service. Make its call: it asks for the approval itself.',
    'not_application_action',
  )

const notNeeded = (decisionId: string) =>
  new ApiError(409, 'invalid_state', 'This is allowed without an approval.', {
    members: { effect: 'allow', decision_id: decisionId },
  })

const tooLarge = () =>
  new ApiError(
    413,
    'payload_too_large',
    'What the policies read of a question that needs an approval can have 16 KiB at most.',
  )

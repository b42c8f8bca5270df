import { z } from 'zod'
import {
  type ActionName,
  type ApplicationAction,
  isServiceAction,
} from '../../policy-engine/catalogue/actions.ts'
import type { Slice } from '../../policy-engine/compile/compiled-policy.ts'
import type { AnyQuery, Resource, SubjectType } from '../../policy-engine/evaluate/query.ts'
import type { Caller } from '../../request/caller.ts'
import { askerIn, sessionFacts } from '../../request/decide.ts'
import type { PoliciesInForce } from '../../request/policies-in-force.ts'
import type { EvaluationObject } from './find-objects.ts'
import type { KnownSubject } from './store.ts'

const maxKey = 128

// Not a record of zod: its check of each key costs 0.6 µs in a large object, 11 ms for the keys of a large batch.
const attributesIn = (what: string) =>
  z
    .custom<Record<string, unknown>>(
      (value) =>
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        Object.keys(value).every((key) => key.length <= maxKey),
      `Give ${what} as an object, with keys of ${maxKey} characters at most.`,
    )
    .meta({ override: { type: 'object', additionalProperties: true } })
    .optional()
export const properties = attributesIn('properties')
export const evaluationContext = attributesIn('context')
export const text = (what: string, max: number) =>
  z
    .string(`Give ${what} as text.`)
    .min(1, `Give ${what}.`)
    .max(max, `Give ${what} in ${max} characters at most.`)

export const entity = (what: string) =>
  z.object(
    { type: text(`${what}.type`, 128), id: text(`${what}.id`, 254), properties },
    `Give ${what} as an object.`,
  )

export const actionEntity = z.object(
  { name: text('action.name', 127), properties },
  'Give action as an object with its name: {"name": "resource:verb"}.',
)

/** The bytes of an evaluation as JSON. */
export const maxBytes = 32 * 1024

/** Adds an issue for members that have more than 32 KiB together, at the largest of them. */
export function checkBytes(
  members: Record<string, unknown>,
  context: z.core.$RefinementCtx,
  what = 'A question can have 32 KiB',
): void {
  const bytes = bytesOf(members)
  if (bytes <= maxBytes) return
  const sizes = Object.entries(members).map(([name, value]) => ({ name, bytes: bytesOf(value) }))
  const { name: largest } = sizes.reduce((one, other) => (other.bytes > one.bytes ? other : one))
  const message = `${what} at most. The given JSON has ${bytes} bytes; its largest member is ${largest}.`
  context.addIssue({ code: 'custom', path: [largest], message })
}

/** The bytes of a value as JSON. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/** One evaluation of AuthZEN 1.0 §6.1. Unknown members are ignored. */
export const evaluationSchema = z
  .object({
    subject: entity('subject'),
    action: actionEntity,
    resource: entity('resource'),
    context: evaluationContext,
  })
  .superRefine((body, context) => checkBytes(body, context))
  .meta({ id: 'EvaluationRequest' })

export type Evaluation = z.output<typeof evaluationSchema>

/** What names an action: `resource:verb`, or a verb of the type of the resource. */
interface Named {
  action: { name: string }
  resource: { type: string }
}

/**
 * The action that an evaluation names, in any case: gateways ask with the names of HTTP methods. Each name is an action. One
 * that is neither of the service nor possible for an application (`isApplicationAction`) is denied by the engine.
 */
export function actionOf({ action: { name }, resource: { type } }: Named): ActionName | ApplicationAction {
  const full = (name.includes(':') ? name : `${type}:${name}`).toLowerCase()
  return full as ActionName | ApplicationAction
}

/** The loaded parts of an evaluation. `known` is null for a subject that is not a member. */
interface QuerySource {
  caller: Caller
  action: ActionName | ApplicationAction
  known: KnownSubject | null
  object?: EvaluationObject
  slice: Slice
  callerKeys: PoliciesInForce['callerKeys']
  now: number
}

/** Whether subjects of this type are members of the tenant. Other types belong to the application. */
export const isMemberType = (type: string): type is SubjectType =>
  type === 'user' || type === 'service_account'

/** The evaluation as a query to the engine. The session is known only if the caller asks about themselves. */
export function queryOf(
  evaluation: Evaluation,
  { caller, action, known, object, slice, callerKeys, now }: QuerySource,
): AnyQuery {
  const self = known?.id === caller.userId
  const id = known?.id ?? evaluation.subject.id
  const tenant = caller.auth.tenant
  if (!tenant) throw new Error('A question needs a tenant')
  const offered = {
    subject: evaluation.subject.properties ?? {},
    resource: evaluation.resource.properties ?? {},
    action: evaluation.action.properties ?? {},
    environment: evaluation.context ?? {},
  }
  const common = {
    offered,
    requestId: caller.requestInfo.requestId,
    now,
    phase: 'resource' as const,
    askedBy: askerIn(caller),
    tenant,
    slice,
    resource: resourceOf(evaluation, object ?? 'of the application', caller.tenantId),
    environment: self
      ? { ip: caller.requestInfo.ip, userAgent: caller.requestInfo.userAgent }
      : { ip: null, userAgent: null },
  }
  const subject = {
    id,
    email: known?.email ?? null,
    emailVerified: known?.emailVerified ?? false,
    tenantId: caller.tenantId,
    membership: known?.membership ?? null,
  }
  const session = self ? sessionFacts(caller) : null
  if (isServiceAction(action)) {
    const type = known?.type ?? 'user'
    const assumed = { ...noSession, token: type === 'user' ? 'access' : 'key' } as const
    return {
      ...common,
      action,
      subject: { ...subject, type, email: subject.email ?? '', session: session ?? assumed },
    }
  }
  const sent = { ...offered, resource: propertiesThatCount(offered.resource, object, callerKeys) }
  const { type } = evaluation.subject
  return { ...common, application: true, action, subject: { ...subject, type, session }, sent }
}

/** Of a registered resource, what the evaluation says counts only for attributes that may come from the caller. */
function propertiesThatCount(
  given: Record<string, unknown>,
  object: EvaluationObject | undefined,
  callerKeys: ReadonlySet<string>,
): Record<string, unknown> {
  if (typeof object !== 'object' || !('registered' in object)) return given
  return Object.fromEntries(Object.entries(given).filter(([key]) => callerKeys.has(key)))
}

/**
 * A missing object gets a tenant that does not exist, so that isolation denies it, independent of policies. A person who is
 * named otherwise is decided by their id.
 */
function resourceOf({ resource }: Evaluation, object: EvaluationObject, tenantId: string): Resource {
  const { type, id } = resource
  if (object === 'missing') return { type, id, tenantId: 'none', ownerId: null }
  if (object === 'of the application') return { type, id, tenantId, ownerId: null }
  return { type, id: object.id ?? id, tenantId, ownerId: object.ownerId ?? null, fields: object.fields ?? {} }
}

/** What is assumed of a subject that is not the caller, for an action of the service. */
const noSession = { id: 'none', acr: 'aal1', amr: [], authTime: 0 } as const

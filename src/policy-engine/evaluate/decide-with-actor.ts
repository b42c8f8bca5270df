import type { ActionName, ApplicationAction } from '../catalogue/actions.ts'
import type { Decision } from './decision.ts'
import type { AnyQuery } from './query.ts'

/**
 * These only show the subject and what they met, so what is the subject's own counts as the actor's own. For all other
 * actions, an actor needs a permission: a member may leave the tenant, but no one else may do it in their name.
 */
const mirrored: ReadonlySet<ActionName | ApplicationAction> = new Set([
  'profile:read',
  'tenant:list',
  'approval_request:list_pending',
  'approval_request:read',
  'decision:read',
  'decision:explain',
  'access:evaluate',
] as const)

/**
 * Decides a query, and if another member acts as its subject, the same query about them. The stricter effect counts, and the
 * obligations of both. An actor cannot do more than each of both, whatever changed since the impersonation began.
 */
export function decideWithActor(decide: (query: AnyQuery) => Decision, query: AnyQuery): Decision {
  const decision = decide(query)
  const actor = query.subject.session?.actor
  if (!actor || decision.effect === 'deny') return decision
  const own = decide(aboutActor(query))
  if (own.effect === 'deny') {
    const code = 'impersonation_not_allowed' as const
    return { ...own, reasons: [{ code, layer: 'invariant' }, ...own.reasons] }
  }
  const stricter = own.effect === 'allow' ? decision : own
  const other = stricter === own ? decision : own
  return {
    ...stricter,
    obligations: [...stricter.obligations, ...other.obligations],
    provisional: decision.provisional || own.provisional,
    durationUs: decision.durationUs + own.durationUs,
  }
}

/** The query with the actor as its subject, in their own session. */
export function aboutActor(query: AnyQuery): AnyQuery {
  const { actor, ...session } = query.subject.session!
  const { id, email, emailVerified, membership } = actor!
  const { resource, action } = query
  const isMirrored = mirrored.has(action) && resource.ownerId === query.subject.id
  return {
    ...query,
    subject: {
      ...query.subject,
      type: 'user',
      id,
      email,
      emailVerified,
      membership,
      session: { ...session, token: 'access' },
    },
    resource: isMirrored ? { ...resource, ownerId: id } : resource,
  } as AnyQuery
}

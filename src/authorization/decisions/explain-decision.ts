import type { Deps } from '../../deps.ts'
import { actions, isServiceAction } from '../../platform/access/actions.ts'
import { reasonSentence } from '../../platform/access/reasons.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { loadDecision, showDecision } from './read-decisions.ts'
import type { DecisionRow } from './store.ts'

/** A decision with why it came out so, in sentences: for a member without what is the tenant's. Throws 404. */
export async function explainDecision(deps: Deps, actor: Actor, id: string) {
  const { row, whole } = await loadDecision(deps, actor, id)
  const explanation = [
    asked(row),
    ...row.reasons.map(({ code }) => reasonSentence(code)),
    ...(whole ? within(row) : []),
  ]
  return { ...showDecision(row, whole), explanation, trace: [] as unknown[] }
}

/** What was asked and how it ended. */
function asked({
  subject_email,
  subject_id,
  action,
  resource_type,
  resource_id,
  effect,
}: DecisionRow): string {
  const who = subject_email ?? subject_id
  const what = resource_id === null ? resource_type : `${resource_type} ${resource_id}`
  return `${who} asked for ${action} on ${what}: ${outcomes[effect]}.`
}

const outcomes = { allow: 'allowed', deny: 'denied', require_approval: 'an approval is needed' }

/** What an administrator can do something about: roles that lack it, policies that said so. */
function within({ reasons, matched, action, facts }: DecisionRow): string[] {
  const held = facts.subject.membership?.roles ?? facts.subject.membership?.systemRoles ?? []
  const lacking = reasons.some(({ code }) => code === 'missing_permission' || code === 'not_owner')
  const roles = lacking ? [`Roles held: ${held.join(', ') || 'none'}.`, ...grantedTo(action)] : []
  const policies = matched.map(
    ({ name, version, effect }) => `The policy "${name}" (version ${version}) applied: ${effect}.`,
  )
  return [...roles, ...policies]
}

const grantedTo = (action: string): string[] => {
  const roles = isServiceAction(action) ? actions[action].roles : ['owner', 'admin']
  return roles.length > 0 ? [`Of the system roles, ${roles.join(', ')} permit ${action}.`] : []
}

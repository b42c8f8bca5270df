import type { Deps } from '../../deps.ts'
import { workBudget } from '../../limits/work-budget.ts'
import {
  type ActionName,
  type ApplicationAction,
  actionNames,
  isApplicationAction,
  isPermission,
  isServiceAction,
} from '../../policy-engine/catalogue/actions.ts'
import { type Bound, boundedPolicy, unknownIn } from '../../policy-engine/compile/bounded-policy.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Decision, Matched, Reason } from '../../policy-engine/evaluate/decision.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import { toJsonMatched, toJsonReason } from '../../request/answer/refusal.ts'
import type { Caller } from '../../request/caller.ts'
import { askerIn } from '../../request/decide.ts'
import type { KnownSubject } from '../evaluation/store.ts'
import { moduleLate } from '../policies/modules/module-late.ts'
import { policyReader } from '../policies/readable-parts.ts'
import { type SlicedPolicies, slicePolicies } from '../policies/slice-policies.ts'
import { isOfSession, knownAttributes, ofSession } from './known-attributes.ts'

type Action = ActionName | ApplicationAction

/** How often something holds: whatever the object and the circumstances are, for some of them, or for none. */
export const often = ['always', 'sometimes', 'never'] as const
type Often = (typeof often)[number]

const most = 1_000

/**
 * What a member may do, permission by permission, without asking about any object: each is decided with what is not known at
 * its best and at its worst for them. Writes nothing to the log of decisions. At most 1,000 permissions; `complete` is
 * false if there are more. Throws 503 `too_costly` and `overloaded`: this takes thousands of decisions.
 */
export const listPermissions = (deps: Deps, caller: Caller, subject: KnownSubject) =>
  workBudget.inTurn('permissions', { userId: askerIn(caller).id, tenantId: caller.tenantId }, () =>
    decideAll(deps, caller, subject),
  )

async function decideAll(deps: Deps, caller: Caller, subject: KnownSubject) {
  const policies = await deps.policyCache.load(caller, caller.auth.tenant?.policyRevision ?? 0)
  const names = await namesOf(deps, caller, policies.active.policies, subject)
  const sides = { service: sideOf(policies, subject, false), application: sideOf(policies, subject, true) }
  const hasRules = deps.access.bundle.isExtended
  const pace = deps.newPace()
  const shown = shownTo(caller, subject.id === caller.userId)
  const permissions = []
  for (const name of names.slice(0, most)) {
    const action = actionIn(name)
    const ofService = isServiceAction(action)
    const side = ofService ? sides.service : sides.application
    const ask: Ask = async (bound, signIn = bound === 'worst' ? 'worst' : 'best') => {
      await pace.next()
      return decideInTime(deps, extremeQuery(deps, caller, subject, { action, side, bound, signIn }))
    }
    const signIns = ofService && hasRules && subject.type === 'user' ? ofSession : []
    permissions.push({ permission: name, ...shown(action, await outcomeOf(ask, side, signIns)) })
  }
  return { permissions, complete: names.length <= most }
}

/** Callers see the policies that they can read, and who can ask about themselves only not what policies read of members. */
function shownTo(caller: Caller, isSelf: boolean) {
  const asksAboutAll = caller.may({ type: 'access' })
  const isRead = policyReader(caller)
  return (action: Action, { reasons, matched, depends_on, ...outcome }: Outcome) => ({
    ...outcome,
    reasons: reasons.map((reason) => toJsonReason(reason, action, isSelf)),
    matched: matched
      .filter(({ policy_id: id, name, effect }) => isRead({ id, name, effect }))
      .map(toJsonMatched),
    depends_on: depends_on.filter(
      (name) => asksAboutAll || isOfSession(name) || !name.startsWith('subject.'),
    ),
  })
}

/** The permissions that roles can give, and those of applications that policies, manifests and the member's roles name. */
async function namesOf(
  { declaredWords }: Deps,
  caller: Caller,
  active: readonly { compiled: Pick<CompiledPolicy, 'actions'> }[],
  { membership }: KnownSubject,
): Promise<string[]> {
  const declared = await declaredWords(caller)
  const named = [
    ...declared,
    ...active.flatMap(({ compiled }) => compiled.actions),
    ...membership.permissions,
  ]
  const ofApplications = [...new Set(named)].filter((name) => isApplicationAction(actionIn(name)))
  return [...actionNames.filter(isPermission), ...ofApplications.sort()]
}

/** The action that a permission is decided with. `invoice:*` stands for the verbs of invoices that nothing names. */
const actionIn = (permission: string) => permission.replace(/:\*$/, ':any') as Action

/** `gated`: at its best, but gates apply wherever they can. */
type Case = Bound | 'gated'

/** How a person is signed in: at best with a second factor just now; or short of that in one of the two, or in both. */
type SignIn = Bound | 'subject.acr' | 'subject.auth_age'

type Ask = (bound: Case, signIn?: SignIn) => Promise<Decision>

/** The policies as they decide about the service's actions, or about those of applications. */
interface Side {
  sliced(bound: Case): SlicedPolicies
  active: ReadonlyMap<string, CompiledPolicy>
  isKnown: (attribute: string) => boolean
}

function sideOf({ active }: SlicedPolicies, subject: KnownSubject, isOfApplication: boolean): Side {
  const isKnown = knownAttributes(subject, isOfApplication)
  const enforced = active.policies.filter(({ mode }) => mode === 'enforce')
  const made = new Map<Case, SlicedPolicies>()
  const boundOf = ({ effect }: CompiledPolicy, bound: Case): Bound =>
    bound !== 'gated' ? bound : effect === 'require_approval' ? 'worst' : 'best'
  const make = (bound: Case) =>
    slicePolicies({
      ...active,
      policies: enforced.map((policy) => ({
        ...policy,
        compiled: boundedPolicy(policy.compiled, boundOf(policy.compiled, bound), isKnown),
      })),
    })
  return {
    sliced(bound) {
      const sliced = made.get(bound) ?? make(bound)
      made.set(bound, sliced)
      return sliced
    },
    active: new Map(enforced.map(({ id, compiled }) => [id, compiled])),
    isKnown,
  }
}

/** The evaluation about an object that is the subject's own at its best, and of another member at its worst. */
function extremeQuery(
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  { type: kind, ...known }: KnownSubject,
  { action, side, bound, signIn }: { action: Action; side: Side; bound: Case; signIn: SignIn },
): AnyQuery {
  const { tenantId, requestInfo, auth } = caller
  const now = clock()
  const type = action.slice(0, action.indexOf(':'))
  const common = {
    requestId: requestInfo.requestId,
    now,
    phase: 'resource' as const,
    askedBy: askerIn(caller),
    tenant: auth.tenant!,
    slice: side.sliced(bound).slice(type, action, now),
    resource: { type, id: null, tenantId, ownerId: bound === 'worst' ? null : known.id },
    environment: { ip: null, userAgent: null },
  }
  const subject = { ...known, type: kind, tenantId }
  if (!isServiceAction(action))
    return { ...common, application: true, action, subject: { ...subject, session: null } }
  const session = { id: 'none', amr: [], ...(kind === 'user' ? signedIn(signIn, now) : withKey) } as const
  return { ...common, action, subject: { ...subject, session } }
}

const withKey = { token: 'key', acr: 'aal1', authTime: 0 } as const

const signedIn = (signIn: SignIn, now: number) => ({
  token: 'access' as const,
  acr: signIn === 'best' || signIn === 'subject.auth_age' ? ('aal2' as const) : ('aal1' as const),
  authTime: signIn === 'best' || signIn === 'subject.acr' ? now : 0,
})

/** Throws 503 where a module was late. */
function decideInTime({ access }: Pick<Deps, 'access'>, query: AnyQuery): Decision {
  const decision = access.decide(query)
  if ((decision.late ?? []).length > 0) throw moduleLate()
  return decision
}

interface Outcome {
  permitted: Often
  approval: Often
  reasons: readonly Reason[]
  matched: readonly Matched[]
  depends_on: readonly string[]
}

/** `signIns` are tried one by one: rules of the installation can look at them, and do not say so. */
async function outcomeOf(ask: Ask, { active, isKnown }: Side, signIns: readonly SignIn[]): Promise<Outcome> {
  const [best, worst] = [await ask('best'), await ask('worst')]
  const permitted: Often = best.effect === 'deny' ? 'never' : worst.effect === 'deny' ? 'sometimes' : 'always'
  const gated = permitted !== 'never' && best.effect === 'allow' ? await ask('gated') : best
  const approval: Often =
    best.effect === 'require_approval'
      ? 'always'
      : gated.effect === 'require_approval'
        ? 'sometimes'
        : 'never'
  const needed = permitted === 'sometimes' ? await denyingOf(ask, signIns) : []
  const decisive =
    permitted === 'sometimes' ? [worst, best, gated] : permitted === 'never' ? [best] : [best, gated]
  const matched = new Map(decisive.flatMap((one) => one.matched.map((match) => [match.policy_id, match])))
  const isOwn = best.reasons.some(({ code }) => code === 'own')
  const read = [...matched.keys()].flatMap((id) => unknownIn(active.get(id)!, isKnown))
  const depends = permitted === 'sometimes' || approval === 'sometimes'
  return {
    permitted,
    approval: permitted === 'never' ? 'never' : approval,
    reasons: decisive[0]!.reasons,
    matched: [...matched.values()],
    depends_on: depends
      ? [...new Set([...(isOwn ? ['resource.owner_id'] : []), ...needed, ...read])].sort()
      : [],
  }
}

/** Those for which the answer is a denial, although all else is at its best. */
async function denyingOf(ask: Ask, signIns: readonly SignIn[]): Promise<SignIn[]> {
  const denying: SignIn[] = []
  for (const signIn of signIns) if ((await ask('best', signIn)).effect === 'deny') denying.push(signIn)
  return denying
}

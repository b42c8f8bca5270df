import { z } from 'zod'
import type { Deps } from '../../../deps.ts'
import { invalidField } from '../../../errors.ts'
import { serviceResources } from '../../../policy-engine/catalogue/actions.ts'
import type { Slice } from '../../../policy-engine/compile/compiled-policy.ts'
import { instantOf } from '../../../policy-engine/compile/instants.ts'
import { type PolicyEffect, policyEffects } from '../../../policy-engine/compile/policy-document.ts'
import { withoutWithheld } from '../../../policy-engine/evaluate/explain.ts'
import type { AnyQuery } from '../../../policy-engine/evaluate/query.ts'
import { toJsonMatched, toJsonReason } from '../../../request/answer/refusal.ts'
import type { Caller } from '../../../request/caller.ts'
import { actionOf, properties, queryOf } from '../../evaluation/evaluation.ts'
import type { RegisteredObject } from '../../evaluation/find-objects.ts'
import { draftPolicy } from '../policy-body.ts'
import { type Readable, readable, readableResource } from '../readable-parts.ts'
import { subjectOf } from './test-subject.ts'
import { startTrial, type Trial, type TrialTarget } from './trial.ts'

const name = z.string('Give this as text.').min(1, 'Give at least one character.').max(254)

const input = z.object({
  subject: z
    .object({
      type: name.default('user'),
      id: name.optional(),
      roles: z.array(name, 'Give roles as a list of names.').max(100).optional(),
      properties,
    })
    .optional(),
  action: z.union([name, z.object({ name, properties })], 'Give the action as resource:verb.').optional(),
  resource: z.object({ type: name, id: name.nullable().optional(), properties }).optional(),
  context: properties,
})

/** One evaluation in the form of AuthZEN, or cases with their expected effects; `draft` replaces the stored policy. */
export const policyTest = input.extend({
  cases: z
    .array(
      z.object({
        name: z.string('Name the case.').max(254).default(''),
        input: input.default({}),
        expect: z.enum(policyEffects, 'Expect allow, deny or require_approval.'),
      }),
      'Give cases as a list.',
    )
    .min(1, 'Give at least one case.')
    .max(100, 'Give 100 cases at most.')
    .optional(),
  draft: draftPolicy.optional(),
})

/** The same about a policy that is not stored. */
export const draftTest = policyTest.extend({ draft: draftPolicy })

type TestInput = z.output<typeof input>
type PolicyTest = z.output<typeof policyTest>

/**
 * Decides evaluations as if the policy (or the draft) were in force. For the evaluation at the top level it also says
 * whether the policy applies, with the trace of its condition. Writes nothing. 400 for unknown roles, 422 for faults in
 * the draft.
 */
export async function testPolicy(
  deps: Deps,
  caller: Caller,
  target: TrialTarget,
  { cases, draft, ...single }: PolicyTest,
  text: () => string,
) {
  const begun = performance.now()
  const trial = await startTrial(deps, caller, target, draft, text)
  const withheld = new Set<string>()
  const ask = async (asked: TestInput, at: string) => {
    const evaluation = await evaluationOf(deps, caller, trial, asked, at)
    const read = [
      ...Object.keys(evaluation.query.slice.attributes),
      ...Object.keys(trial.tested.compiled.attributes),
    ]
    for (const name of read) if (evaluation.isWithheld(name)) withheld.add(name)
    return evaluation
  }
  const alone = Object.values(single).some((part) => part !== undefined) || !cases
  const top = alone ? explained(deps, caller, trial, await ask(single, '')) : {}
  const results: CaseResult[] = []
  const pace = deps.newPace()
  for (const [index, { name, input, expect }] of (cases ?? []).entries()) {
    const { query } = await ask(input, `cases.${index}.input.`)
    await pace.next()
    const { effect } = deps.access.trials.decide(query)
    results.push({ name, effect, expect, passed: effect === expect })
  }
  const durationUs = Math.round((performance.now() - begun) * 1000)
  return { ...top, cases: results, withheld: [...withheld].sort(), duration_us: durationUs }
}

interface CaseResult {
  name: string
  effect: PolicyEffect
  expect: PolicyEffect
  passed: boolean
}

function explained({ access }: Deps, caller: Caller, { tested }: Trial, { query, isWithheld }: TestedQuery) {
  const { decision, policies } = access.trials.explain(query, [tested])
  const [about] = policies
  if (!about) throw new Error('The engine did not explain the tested policy')
  return {
    effect: decision.effect,
    allowed: decision.effect === 'allow',
    applies: about.applies,
    matched: decision.matched.map(toJsonMatched),
    reasons: decision.reasons.map((reason) =>
      toJsonReason(reason, query.action, query.subject.id === caller.userId),
    ),
    obligations: [...decision.obligations],
    missing_attributes: about.missing_attributes,
    ill_typed_attributes: about.ill_typed_attributes,
    trace: about.trace && withoutWithheld(about.trace, isWithheld),
    messages: about.messages,
  }
}

/** The evaluation of one input. The defaults are the caller and the first action of the policy. */
async function evaluationOf(
  deps: Deps,
  caller: Caller,
  trial: Trial,
  asked: TestInput,
  at: string,
): Promise<TestedQuery> {
  const named =
    (typeof asked.action === 'string' ? asked.action : asked.action?.name) ?? firstAction(trial.actions)
  const type = asked.resource?.type ?? named.split(':')[0] ?? ''
  const action = actionOf({ action: { name: named }, resource: { type } })
  const { part: known, isWithheld: ofSubject } = await subjectOf(deps, caller, asked.subject, at)
  const now = momentOf(asked.context?.time, `${at}context.time`) ?? deps.clock()
  const slice = trial.policies.slice(type, action, now)
  const evaluation = {
    subject: {
      type: asked.subject?.type ?? 'user',
      id: known?.id ?? asked.subject?.id ?? '',
      properties: asked.subject?.properties,
    },
    action: {
      name: action,
      properties: typeof asked.action === 'string' ? undefined : asked.action?.properties,
    },
    resource: { type, id: asked.resource?.id ?? '', properties: asked.resource?.properties },
    context: asked.context,
  }
  const { part: object, isWithheld: ofResource } = await registeredObject(deps, caller, evaluation)
  const { callerKeys } = trial.policies
  const parts = { caller, action, known, slice, callerKeys, now, ...(object && { object }) }
  const query = queryOf(evaluation, parts)
  const isGiven = (name: string) =>
    Object.hasOwn(asked.subject?.properties ?? {}, name.slice('subject.'.length))
  return {
    query: withTestValues(query, asked, slice),
    isWithheld: (name) => ofResource(name) || (ofSubject(name) && !isGiven(name)),
  }
}

/** An evaluation with what was left out of it. */
type TestedQuery = { query: AnyQuery } & Pick<Readable<unknown>, 'isWithheld'>

/** The registered resource that an evaluation names by its id alone. In a test, given properties replace it. */
async function registeredObject(
  deps: Deps,
  caller: Caller,
  { resource }: { resource: { type: string; id: string; properties: object | undefined } },
): Promise<Readable<RegisteredObject>> {
  if (resource.id === '' || resource.properties || serviceResources.has(resource.type))
    return readable<RegisteredObject>(null)
  return readableResource(deps, caller, resource)
}

/** The first action of the policy; for a wildcard, one action that it covers. */
const firstAction = ([first = '']: readonly string[]) =>
  first === '*' ? 'tenant:read' : first.endsWith(':*') ? `${first.slice(0, -1)}read` : first

/** In a test, properties also apply to the service's own actions, and the context sets the IP address and User-Agent. */
function withTestValues(query: AnyQuery, { subject, resource, context }: TestInput, slice: Slice): AnyQuery {
  const { membership } = query.subject
  const fields = resource?.properties ?? query.resource.fields ?? {}
  const owner = textOf(resource?.properties?.owner_id)
  const attributes = { ...membership?.attributes, ...subject?.properties }
  return {
    ...query,
    slice,
    subject: { ...query.subject, membership: membership && { ...membership, attributes } },
    resource: {
      ...query.resource,
      id: resource?.id ?? null,
      fields,
      ...(owner && { ownerId: owner }),
    },
    environment: {
      ip: textOf(context?.ip) ?? query.environment.ip,
      userAgent: textOf(context?.user_agent) ?? query.environment.userAgent,
    },
  } as AnyQuery
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : null)

/** The time of the evaluation in ms since 1970, undefined for none. Throws 400 for a value that is no RFC 3339 text. */
function momentOf(value: unknown, field: string): number | undefined {
  if (value === undefined || value === null) return undefined
  const at = typeof value === 'string' ? instantOf(value) : undefined
  if (at === undefined || at < 0)
    throw invalidField(field, 'Give a time as RFC 3339, such as 2026-11-21T09:30:00Z.')
  return at
}

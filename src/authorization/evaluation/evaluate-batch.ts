import { type Read, readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { FieldError } from '../../errors.ts'
import type { Effect } from '../../policy-engine/evaluate/decision.ts'
import type { Caller } from '../../request/caller.ts'
import { type Batch, type Item, itemsOf, type Semantic } from './batch.ts'
import { accessResource, answerAll, type Evaluated, evaluator } from './evaluate.ts'
import type { Evaluation } from './evaluation.ts'
import { type Entities, type LoadedEvaluation, loadEvaluations } from './load-evaluations.ts'
import { findUnknownWords } from './unknown-words.ts'

/** The valid evaluations among the items of a batch. */
const evaluationsOf = (items: readonly Item[]): Evaluation[] =>
  items.flatMap((item) => ('evaluation' in item ? [item.evaluation] : []))

/** A batch as a resource of policies. A member can ask a batch; its items are decided one by one. */
export const batchResource = (caller: Caller) => ({ type: 'access', ownerId: caller.userId })

/**
 * Answers the items in their order (AuthZEN 1.0 §7.2), up to the one at which the semantic stops. An item with a fault,
 * and one that the caller may not ask, is a denial with an error in its context. The log gets all decisions at once.
 */
export async function evaluateBatch(
  deps: Deps,
  caller: Caller,
  body: Batch,
  findEntities: (read: Read, evaluations: readonly Evaluation[]) => Promise<Entities>,
): Promise<{ evaluations: Answer[] }> {
  const { evaluations_semantic: semantic } = body.options
  const pace = deps.newPace()
  const items = await itemsOf(body, pace)
  const asked = evaluationsOf(items)
  const entities = await readInTenant(deps.db, caller, (read) => findEntities(read, asked))
  const loaded = await loadEvaluations(deps, caller, entities, asked)
  const evaluations = (await findUnknownWords(deps, caller, loaded)).values()
  const { policies } = loaded
  const decide = evaluator(deps, caller, policies)
  const mayAsk = rememberingOwners(caller)
  const decided: (ReturnType<typeof decide> | Refused)[] = []
  for (const item of items) {
    await pace.next()
    const evaluation = 'faults' in item ? undefined : evaluations.next().value
    if ('faults' in item) decided.push(faulty(item.faults))
    else if (!evaluation || !mayAsk(evaluation)) decided.push(notAsked())
    else decided.push(decide(evaluation))
    // With an approval, what requires one is permitted: that is known only below.
    const effect = effectOf(decided.at(-1)!)
    if (effect !== 'require_approval' && stops(semantic, effect === 'allow')) break
  }
  const toAnswer = decided.filter((one) => 'query' in one)
  const evaluated = (await answerAll(deps, caller, policies, toAnswer, pace)).values()
  const answers: Answer[] = []
  const records: Evaluated['record'][] = []
  for (const one of decided) {
    const known = 'query' in one ? evaluated.next().value! : null
    if (known) records.push(known.record)
    answers.push(known?.answer ?? (one as Refused))
    if (stops(semantic, answers.at(-1)!.decision)) break
  }
  await deps.decisionLog.record(...records)
  return { evaluations: answers }
}

type Refused = ReturnType<typeof denied>
type Answer = Evaluated['answer'] | Refused

const effectOf = (one: { decision: false | { effect: Effect } }): Effect =>
  one.decision === false ? 'deny' : one.decision.effect

const stops = (semantic: Semantic, permitted: boolean): boolean =>
  semantic === 'deny_on_first_deny' ? !permitted : semantic === 'permit_on_first_permit' && permitted

/** Whether the caller may ask an evaluation, decided once for each subject. */
function rememberingOwners(caller: Caller): (loaded: LoadedEvaluation) => boolean {
  const known = new Map<string | null, boolean>()
  return (loaded) => {
    const resource = accessResource(loaded.known)
    const may = known.get(resource.ownerId) ?? caller.may(resource)
    known.set(resource.ownerId, may)
    return may
  }
}

const denied = (error: { status: number; code: string; message: string; errors?: FieldError[] }) => ({
  decision: false as const,
  context: { error },
})

const faulty = (errors: FieldError[]) =>
  denied({
    status: 400,
    code: 'validation_error',
    message: errors.map(({ detail }) => detail).join(' '),
    errors,
  })

const notAsked = () =>
  denied({
    status: 403,
    code: 'permission_denied',
    message: 'You can ask about yourself only. Asking about others needs access:evaluate.',
  })

import type { Deps } from '../../deps.ts'
import type { Slice } from '../../policy-engine/compile/compiled-policy.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import { queryClassifier } from '../../policy-engine/evaluate/query-class.ts'
import type { Caller } from '../../request/caller.ts'
import { openPosition, sealPosition } from './page-token.ts'

/** An entity that can be a result: what the answer says of it, where the search continues after it, and its evaluation. */
export interface Examined<Result, Position> {
  result: Result
  position: Position
  query: AnyQuery
}

/** The entities of a search in a fixed order, in groups, each made when it is its turn: a group can have thousands. */
export type Candidates<Result, Position> = AsyncIterable<Iterable<Examined<Result, Position>>>

/** Of an action that nothing can permit. */
export async function* noCandidates(): AsyncGenerator<never[]> {}

/** Makes each entity of a group when it is its turn. */
export function* eachInTurn<T, R>(group: Iterable<T>, make: (one: T) => R): Generator<R> {
  for (const one of group) yield make(one)
}

// One request does no more work than this. It then answers the results so far, with a token to continue.
const maxExamined = 20_000
const maxDecisions = 1_000

interface SearchRequest {
  path: string
  evaluation: { page: { token?: string | undefined; limit: number } }
  /** of the policies that decide */
  revision: number
}

/**
 * Answers a page of a search (AuthZEN 1.0 §8): the candidates whose evaluation is permitted. Evaluations that the policies
 * cannot tell apart are decided once. `from` gives the candidates after a position.
 */
export async function answerSearch<Result, Position>(
  deps: Deps,
  caller: Caller,
  { path, evaluation, revision }: SearchRequest,
  from: (after: Position | null) => Candidates<Result, Position>,
) {
  const { page, ...asked } = evaluation
  const scope = { path, tenantId: caller.tenantId, userId: caller.userId, evaluation: asked, revision }
  const after = page.token ? openPosition<Position>(deps.sealer, scope, page.token) : null
  const { results, next } = await collect(from(after), page.limit, effectsOf(deps))
  return {
    // First, so that a reader of the text has it before thousands of results.
    page: {
      next_token: next === null ? '' : sealPosition(deps.sealer, scope, next),
      count: results.length,
    },
    results,
    context: { policy_revision: revision },
  }
}

interface Effects {
  isAllowed(query: AnyQuery): Promise<boolean>
  decided(): number
}

/** One result more than the page shows whether there is a next page. */
async function collect<Result, Position>(
  candidates: Candidates<Result, Position>,
  limit: number,
  effects: Effects,
): Promise<{ results: Result[]; next: Position | null }> {
  const results: Result[] = []
  let last: Position | null = null
  let examined = 0
  for await (const group of candidates)
    for (const { result, position, query } of group) {
      if (examined === maxExamined || effects.decided() === maxDecisions) return { results, next: last }
      examined++
      const allowed = await effects.isAllowed(query)
      if (allowed && results.length === limit) return { results, next: last }
      if (allowed) results.push(result)
      last = position
    }
  return { results, next: null }
}

function effectsOf({ access, newPace }: Deps): Effects {
  const known = new Map<string, boolean>()
  const classifiers = new Map<Slice, ReturnType<typeof queryClassifier>>()
  const pace = newPace()
  let decided = 0
  const classOf = (query: AnyQuery) => {
    const classify = classifiers.get(query.slice) ?? queryClassifier(query.slice, access.bundle)
    classifiers.set(query.slice, classify)
    return classify(query)
  }
  return {
    decided: () => decided,
    async isAllowed(query) {
      // To find the class of an evaluation takes time, too.
      await pace.next()
      const key = classOf(query)
      const found = known.get(key)
      if (found !== undefined) return found
      decided++
      const allowed = access.decide(query).effect === 'allow'
      known.set(key, allowed)
      return allowed
    },
  }
}

import type { Candidate } from './search-schemas.ts'

/** A subject or resource of an application, by its id. */
export type NamedCandidate = Pick<Candidate, 'id'> & Partial<Candidate>

/** The candidates of an evaluation and the ids that policies name, each once, by id, after a position. */
export function candidatesAfter(
  asked: readonly Candidate[],
  named: readonly string[],
  after: string | null,
): NamedCandidate[] {
  const byId = new Map<string, NamedCandidate>(named.map((id) => [id, { id }]))
  for (const candidate of asked) byId.set(candidate.id, candidate)
  return [...byId.values()]
    .filter(({ id }) => after === null || id > after)
    .sort((one, other) => (one.id < other.id ? -1 : 1))
}

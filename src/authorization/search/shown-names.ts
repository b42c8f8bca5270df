import { type Read, readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { Caller } from '../../request/caller.ts'
import { findSubjectId, type SubjectId } from '../../tenancy/tenants/store.ts'
import { subjectsByName } from '../evaluation/name-subjects.ts'
import { findSubjects, type NamedSubject, type SubjectName } from '../evaluation/store.ts'

/** By what the results of a search for entities of this type are named. Only people have other names than their id. */
export const subjectIdFor = (read: Read, tenantId: string, type: string): Promise<SubjectId> =>
  type === 'user' ? findSubjectId(read, tenantId) : Promise.resolve('id')

/**
 * Names the people of a page as the tenant chose. A person without this name, and one whose name fits another member too, keeps
 * their id: an evaluation takes each result for the one that was found.
 */
export async function withShownNames<Answer extends { results: readonly SubjectName[] }>(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  subjectId: SubjectId,
  answer: Answer,
) {
  if (subjectId === 'id' || answer.results.length === 0) return answer
  const find = (names: readonly SubjectName[]) =>
    readInTenant(deps.db, caller, (read) => findSubjects(read, caller.tenantId, names))
  const people = await find(answer.results)
  const named = new Map(people.map((person) => [person.id, { type: 'user', id: nameOf(person, subjectId) }]))
  const found = subjectsByName(await find([...named.values()]))
  const results = answer.results.map((result) => {
    const name = named.get(result.id)
    const means = name && found(name)
    return means && means !== 'ambiguous' && means.id === result.id ? name : result
  })
  return { ...answer, results }
}

const nameOf = (
  { id, email, emailVerified, externalId }: NamedSubject,
  subjectId: Exclude<SubjectId, 'id'>,
): string => (subjectId === 'email' ? (emailVerified ? email : id) : (externalId ?? id))

import type { Read } from '../../database/executor/read.ts'
import { nameForms } from '../../tenancy/members/subject-store.ts'
import { findSubjects, type KnownSubject, type NamedSubject, type SubjectName } from './store.ts'

/** The member with a name; null for none. A name that fits two members finds neither: it could mean either. */
export type FoundSubject = KnownSubject | 'ambiguous' | null

/**
 * Returns the one function that says whom an evaluation means: by the id, the proven address, or the `external_id`. An unproven
 * address names no one, because anyone can register with it.
 */
export function subjectsByName(subjects: readonly NamedSubject[]): (name: SubjectName) => FoundSubject {
  const folded = new Map<string, KnownSubject>()
  const exact = new Map<string, KnownSubject>()
  for (const subject of subjects) {
    const { type, id, email, emailVerified, externalId } = subject
    folded.set(keyOf(type, id), subject)
    if (emailVerified && email !== '') folded.set(keyOf(type, email), subject)
    if (externalId !== null) exact.set(keyOf(type, externalId), subject)
  }
  return ({ type, id }) => {
    const forms = nameForms(id)
    const [one, other] = [folded.get(keyOf(type, forms.folded)), exact.get(keyOf(type, forms.exact))]
    if (one && other && one.id !== other.id) return 'ambiguous'
    return one ?? other ?? null
  }
}

/** The member of the tenant with this name; null also for a name that fits two. */
export async function findSubject(
  read: Read,
  tenantId: string,
  name: SubjectName,
): Promise<KnownSubject | null> {
  const found = subjectsByName(await findSubjects(read, tenantId, [name]))(name)
  return found === 'ambiguous' ? null : found
}

const keyOf = (type: string, name: string) => `${type} ${name}`

import { readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { Caller } from '../../request/caller.ts'
import type { RegisteredObject } from '../evaluation/find-objects.ts'
import { findRegistered, registered, registeredKey } from '../resources/find-registered.ts'
import { listKnownResources } from '../resources/store.ts'
import { candidatesAfter } from './named-candidates.ts'
import type { Candidate } from './search-schemas.ts'

/** A place in a search: first among the ids that the evaluation or policies name, then among the registered resources. */
export interface PlaceInSearch {
  among: 'named' | 'registered'
  id: string
}

interface Found {
  id: string
  place: PlaceInSearch
  /** what the evaluation says of a candidate */
  properties?: Candidate['properties']
  object?: RegisteredObject
}

interface Scope {
  deps: Pick<Deps, 'db'>
  caller: Caller
  type: string
}

const registeredAtOnce = 1_000

/** The objects of a type of an application after a place, each once: what is named, then what is registered. */
export async function* applicationObjectsAfter(
  scope: Scope,
  ids: { asked: readonly Candidate[]; named: readonly string[] },
  after: PlaceInSearch | null,
): AsyncGenerator<Found[]> {
  if (after?.among !== 'registered') yield await namedAfter(scope, ids, after?.id ?? null)
  const seen = new Set([...ids.asked.map(({ id }) => id), ...ids.named])
  const { deps, caller, type } = scope
  let from = after?.among === 'registered' ? after.id : ''
  while (true) {
    const page = { type, after: from, limit: registeredAtOnce }
    const rows = await readInTenant(deps.db, caller, (read) =>
      listKnownResources(read, caller.tenantId, page),
    )
    yield rows
      .filter(({ resource_id }) => !seen.has(resource_id))
      .map((row) => ({
        id: row.resource_id,
        place: { among: 'registered', id: row.resource_id },
        object: registered(row),
      }))
    if (rows.length < registeredAtOnce) return
    from = rows.at(-1)!.resource_id
  }
}

async function namedAfter(
  { deps, caller, type }: Scope,
  { asked, named }: { asked: readonly Candidate[]; named: readonly string[] },
  after: string | null,
): Promise<Found[]> {
  const candidates = candidatesAfter(asked, named, after)
  const known = await readInTenant(deps.db, caller, (read) =>
    findRegistered(
      read,
      caller.tenantId,
      candidates.map(({ id }) => ({ type, id })),
    ),
  )
  return candidates.map(({ id, properties }) => {
    const object = known.get(registeredKey({ type, id }))
    return {
      id,
      place: { among: 'named', id },
      ...(properties && { properties }),
      ...(object && { object }),
    }
  })
}

import { notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { showPolicy } from './show-policy.ts'
import type { PolicyRow } from './store.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Decides the action of the request about this policy: 404 where there is none, 403 where it is not permitted. */
export function permitPolicy(
  caller: Caller,
  policy: PolicyRow | null,
  roles: Vocabulary['roles'],
): asserts policy is PolicyRow {
  if (!policy) throw notFound()
  caller.permit({
    type: 'policy',
    id: policy.id,
    ownerId: policy.created_by,
    fields: showPolicy(policy, roles),
  })
}

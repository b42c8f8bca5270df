import type { Read } from '../../database/executor/read.ts'
import { wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { Warning } from '../../policy-engine/compile/policy-document.ts'
import { unknownActions } from '../../policy-engine/compile/unknown-actions.ts'
import type { Caller } from '../../request/caller.ts'
import { hasServiceResource } from './permissions.ts'
import { listActionsInPolicies, listActionsInRoles, listDeclaredActions } from './store.ts'

/**
 * Warnings about permissions that nothing names, and that nearly are one of the service or one that a role, a policy or
 * a manifest names. Other new names pass: an application can ask for any. `list` is the pointer of the permissions. Callers
 * who cannot read policies learn no name from them.
 */
export async function misspeltPermissions(
  read: Read,
  caller: Pick<Caller, 'tenantId' | 'readerBy'>,
  {
    permissions,
    list,
    exceptRole = null,
  }: { permissions: readonly string[]; list: string; exceptRole?: string | null },
): Promise<Warning[]> {
  if (permissions.every(hasServiceResource)) return []
  const { tenantId } = caller
  const readsPolicies = caller.readerBy('policy:read')({ type: 'policy' })?.length === 0
  const wanted = { tenantId, names: [...permissions, ...permissions.map(wildcardOf)], exceptRole }
  const named = await Promise.all([
    listActionsInRoles(read, wanted),
    readsPolicies ? listActionsInPolicies(read, wanted) : [],
    listDeclaredActions(read),
  ])
  return unknownActions(permissions, new Set(named.flat()), list).filter(({ meant }) => meant)
}

import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { builtInDefinitions, isBuiltIn } from './built-in.ts'
import {
  countListed,
  type DefinitionRow,
  definitionList,
  findDefinition,
  pageOfDefinitions,
} from './store.ts'

/** A definition as callers read it. */
export const showDefinition = (row: DefinitionRow) => ({
  ...row,
  is_system: isBuiltIn(row.id),
  created_at: rfc3339(row.created_at),
})

/** A page of the built-in attributes, then the tenant's own. */
export function listAttributes(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const asked = { path: '/api/v1/attribute-definitions', query }
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await pageOfDefinitions(tx, tenantId, builtInDefinitions, page),
      count: await countListed(tx, tenantId, builtInDefinitions, page),
    }))
  return answerPage(deps, caller, definitionList, asked, load, showDefinition)
}

/** One definition, built in or the tenant's own. */
export const loadDefinition = (deps: Deps, caller: Caller, id: string): Promise<DefinitionRow | null> =>
  inTenant(deps.db, caller, (tx) => findAnyDefinition(tx, caller.tenantId, id))

/** As {@link loadDefinition}, in a transaction. */
export const findAnyDefinition = async (
  tx: Tx,
  tenantId: string,
  id: string,
): Promise<DefinitionRow | null> =>
  (await findDefinition(tx, tenantId, id)) ?? builtInDefinitions.find((builtIn) => builtIn.id === id) ?? null

/** A definition as a resource of policies. */
export const definitionResource = (definition: DefinitionRow) => ({
  type: 'attribute_definition',
  id: definition.id,
  fields: showDefinition(definition),
})

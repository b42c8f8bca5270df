import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
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

/** One definition, built in or the tenant's own; throws 404. */
export async function readAttribute(deps: Deps, caller: Caller, id: string) {
  const found = await inTenant(deps.db, caller, (tx) => findDefinition(tx, caller.tenantId, id))
  return showDefinition(permitDefinition(caller, id, found))
}

/** Decides the action of the request about this definition: 404 where there is none, 403 where not permitted. */
export function permitDefinition(caller: Caller, id: string, found: DefinitionRow | null): DefinitionRow {
  const definition = found ?? builtInDefinitions.find((builtIn) => builtIn.id === id)
  if (!definition) throw notFound()
  caller.permit({ type: 'attribute_definition', id, fields: showDefinition(definition) })
  return definition
}

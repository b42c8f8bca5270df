import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount } from '../../lists/lists.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
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
export const attributes = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/attribute-definitions',
    list: definitionList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(
        pageOfDefinitions(read, tenantId, builtInDefinitions, page),
        countListed(read, tenantId, builtInDefinitions, page),
      ),
    show: showDefinition,
  })

/** One definition, built in or the tenant's own; or null. */
export const findAnyDefinition = async (
  tx: Read,
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

import type { ObjectFinders } from '../lists/find-object.ts'
import { lister, type ObjectListers } from '../lists/list-objects.ts'
import { ruleResource } from './rules/rule-schemas.ts'
import { findRule, listRules, ruleList } from './rules/store.ts'

/** Loads the objects of this context as resources for decisions. */
export const directoryObjects: ObjectFinders = {
  async directory(read, { tenantId }, id) {
    const rule = await findRule(read, { tenantId, id })
    return rule && ruleResource(rule)
  },
}

/** Lists the objects of this context, for searches. */
export const directoryLists: ObjectListers = {
  directory: lister(ruleList, (tx, { tenantId }, page) => listRules(tx, tenantId, page), ruleResource),
}

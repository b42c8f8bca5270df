import type { FragmentSqlToken } from 'slonik'
import { isUuid } from '../crypto/uuid.ts'
import { sql } from '../database/executor/transaction.ts'
import { instant } from '../database/instant.ts'
import type { Filter } from './resource/parse-filter.ts'
import { scimFault } from './scim-error.ts'

/** What a path of a filter is in SQL. Texts are in lower case, but `exact` ones. */
export interface Compared {
  type: 'text' | 'exact' | 'id' | 'boolean' | 'time'
  value: FragmentSqlToken
  /** In place of `value = given`, by an index. */
  equals?: (given: string) => FragmentSqlToken
}

/** Finds what a path is; undefined for an attribute that cannot be compared. */
type Find = (path: string) => Compared | undefined

const unfit = (what: string) =>
  scimFault('invalid_filter', `Resources cannot be filtered by ${what.slice(0, 200)}.`)

/** The condition of a filter. 400 `invalid_filter`. */
export function conditionOf(filter: Filter, find: Find): FragmentSqlToken {
  switch (filter.op) {
    case 'and':
    case 'or': {
      const parts = filter.filters.map((one) => conditionOf(one, find))
      return sql.fragment`(${sql.join(parts, filter.op === 'and' ? sql.fragment` and ` : sql.fragment` or `)})`
    }
    case 'not':
      return sql.fragment`((${conditionOf(filter.filter, find)}) is not true)`
    case '[]':
      return conditionOf(below(filter.attrPath, filter.valFilter), find)
    default:
      return comparison(filter, find)
  }
}

/** The filter of a value path with the paths of its parts written out: `emails[value eq "x"]`. */
function below(path: string, filter: Filter): Filter {
  if ('filters' in filter) return { ...filter, filters: filter.filters.map((one) => below(path, one)) }
  if ('filter' in filter) return { ...filter, filter: below(path, filter.filter) }
  return { ...filter, attrPath: `${path}.${filter.attrPath}` }
}

type Comparison = Extract<Filter, { attrPath: string; op: Exclude<Filter['op'], '[]'> }>

function comparison(filter: Comparison, find: Find): FragmentSqlToken {
  const compared = find(filter.attrPath)
  if (!compared) throw unfit(filter.attrPath)
  const { type, value, equals } = compared
  if (filter.op === 'pr') return sql.fragment`(${value} is not null)`
  const { op, compValue } = filter as Extract<Filter, { compValue: unknown }>
  if (compValue === null) {
    if (op !== 'eq' && op !== 'ne') throw unfit(`${filter.attrPath} ${op} null`)
    return op === 'eq' ? sql.fragment`(${value} is null)` : sql.fragment`(${value} is not null)`
  }
  if (type === 'boolean') return ofFlag(value, op, compValue) ?? refuse(filter.attrPath, op)
  if (type === 'time') return ofTime(value, op, compValue) ?? refuse(filter.attrPath, op)
  const given = type === 'exact' ? String(compValue) : String(compValue).toLowerCase()
  if (op === 'eq' && type === 'id' && !isUuid(given)) return sql.fragment`false`
  if (op === 'eq' && equals) return equals(given)
  if (op === 'eq' && type === 'id') return sql.fragment`(${value} = ${given})`
  return ofText(type === 'id' ? sql.fragment`${value}::text` : value, op, given)
}

const refuse = (path: string, op: string): never => {
  throw unfit(`${path} ${op}`)
}

function ofFlag(value: FragmentSqlToken, op: string, given: unknown): FragmentSqlToken | null {
  const flag = typeof given === 'boolean' ? given : /^true$/i.test(String(given))
  if (op === 'eq') return sql.fragment`(${value} = ${flag})`
  return op === 'ne' ? sql.fragment`(${value} is distinct from ${flag})` : null
}

function ofTime(value: FragmentSqlToken, op: string, given: unknown): FragmentSqlToken | null {
  const at = Date.parse(String(given))
  if (Number.isNaN(at)) return null
  const sign = signs[op]
  return sign ? sql.fragment`(${value} ${sign} ${instant(at)})` : null
}

const signs: Record<string, FragmentSqlToken> = {
  eq: sql.fragment`=`,
  ne: sql.fragment`is distinct from`,
  gt: sql.fragment`>`,
  ge: sql.fragment`>=`,
  lt: sql.fragment`<`,
  le: sql.fragment`<=`,
}

function ofText(value: FragmentSqlToken, op: string, given: string): FragmentSqlToken {
  if (op === 'co') return sql.fragment`(strpos(${value}, ${given}) > 0)`
  if (op === 'sw') return sql.fragment`starts_with(${value}, ${given})`
  if (op === 'ew') return sql.fragment`(right(${value}, char_length(${given})) = ${given})`
  return sql.fragment`(${value} ${signs[op]!} ${given})`
}

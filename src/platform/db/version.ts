import { type FragmentSqlToken, sql } from 'slonik'

/** The versions of a row that a request may change; null for any. */
export type Versions = readonly number[] | null

/** The condition that a row is of one of these versions, to stand in the very statement that changes it. */
export const versionAmong = (column: FragmentSqlToken, versions: Versions): FragmentSqlToken =>
  versions === null ? sql.fragment`true` : sql.fragment`${column} = any(${sql.array([...versions], 'int8')})`

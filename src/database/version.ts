import { type FragmentSqlToken, sql } from 'slonik'

/** The versions of a row that a request can change; null for any version. */
export type Versions = readonly number[] | null

/** The condition that a row has one of these versions. Put it into the statement that changes the row. */
export const versionAmong = (column: FragmentSqlToken, versions: Versions): FragmentSqlToken =>
  versions === null ? sql.fragment`true` : sql.fragment`${column} = any(${sql.array([...versions], 'int8')})`

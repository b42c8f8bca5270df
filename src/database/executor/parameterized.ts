import type { QuerySqlToken } from 'slonik'

type Schema = QuerySqlToken['parser']

/**
 * A statement that differs from use to use only in its bound values, so that its text is written once, at the first use.
 * Joining the fragments of a long statement each time costs more than to send it. `write` may only bind what it is given:
 * it sees names in the place of the values.
 */
export function parameterized<Name extends string, Row extends Schema>(
  write: (values: Record<Name, string>) => QuerySqlToken<Row>,
): (values: Readonly<Record<Name, string>>) => QuerySqlToken<Row> {
  let written: { token: QuerySqlToken<Row>; names: Name[] } | undefined
  return (values) => {
    written ??= writtenOnce(write)
    return { ...written.token, values: written.names.map((name) => values[name]) }
  }
}

function writtenOnce<Name extends string, Row extends Schema>(
  write: (values: Record<Name, string>) => QuerySqlToken<Row>,
) {
  const asked = new Set<unknown>()
  const placeholders = new Proxy({} as Record<Name, string>, {
    get(_, name) {
      asked.add(name)
      return name
    },
  })
  const token = write(placeholders)
  if (!token.values.every((value) => asked.has(value)))
    throw new Error('A parameterized statement binds a value that is not one of its own')
  return { token, names: token.values as Name[] }
}

/** A time (ms since 1970) as the value of `to_timestamp(...)`. */
export const secondsOf = (ms: number): string => String(ms / 1_000)

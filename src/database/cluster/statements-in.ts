// Citus sends the text of a query to its nodes, and these take one statement at a time. An `alter table` of a distributed table makes
// one change if that is a constraint, and a new column has no check. Migrations need not know: they are sent in these forms, which
// mean the same on every Postgres.

const pieces = /'[^']*'|"[^"]*"|--[^\n]*|\$(\w*)\$.*?\$\1\$|[();,]|[^'"$();,-]+|./gs

/** The statements of a text, in forms that Citus takes. */
export function statementsIn(text: string): string[] {
  const statements: string[] = []
  let [statement, depth] = ['', 0]
  const end = () => statements.push(...withCheckApart(statement.trim()))
  for (const [piece] of text.matchAll(pieces)) {
    if (piece.startsWith('--')) continue
    if (piece === '(') depth++
    if (piece === ')') depth--
    const [table] = /^\s*alter table \S+ ?/.exec(statement) ?? []
    const nextChange = piece === ',' && depth === 0 && table
    if (piece === ';' || nextChange) end()
    if (piece === ';') statement = ''
    else if (nextChange) statement = table
    else statement += piece
  }
  end()
  return statements.filter(Boolean)
}

/** The check of a new column as a constraint of the name that Postgres would give it. */
function withCheckApart(statement: string): string[] {
  const added = /^alter table (\S+)\s+add column (\w+)\s(.*?)\s(check \(.*\))$/s.exec(statement)
  if (!added) return [statement]
  const [, table, column, definition, check] = added
  return [
    `alter table ${table} add column ${column} ${definition}`,
    `alter table ${table} add constraint ${table}_${column}_check ${check}`,
  ]
}

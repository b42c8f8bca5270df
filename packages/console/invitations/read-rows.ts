import { closest, distance } from 'fastest-levenshtein'
import { texts } from './texts.ts'

/** A row of a pasted table: whom to invite, and what is wrong with it. */
export interface InvitedRow {
  /** As it was pasted, so that what is refused can be corrected. */
  line: string
  email: string
  roles: string[]
  department: string
  departmentId: string | null
  externalId: string | null
  faults: string[]
}

interface Known {
  roles: readonly string[]
  departments: readonly { id: string; name: string }[]
}

const { csv: words } = texts
const isAddress = (text: string) => /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(text)

/** The cells of a line: RFC 4180, with the separators that spreadsheets of different languages use. */
function cellsOf(line: string): string[] {
  const separator = ['\t', ';', ','].find((one) => line.includes(one)) ?? ','
  const cells: string[] = []
  let rest = line
  while (rest !== '') {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*/.exec(rest)
    const end = quoted ? quoted[0].length : rest.indexOf(separator)
    const cell = quoted ? quoted[1]!.replaceAll('""', '"') : rest.slice(0, end === -1 ? undefined : end)
    cells.push(cell.trim())
    rest = end === -1 ? '' : rest.slice(end + (rest.startsWith(separator, end) ? separator.length : 0))
  }
  return cells
}

/** A pasted table: its line of titles, what is wrong with them, and its rows. */
export interface InvitedTable {
  titles: string | null
  faults: string[]
  rows: InvitedRow[]
}

/** The columns, with the titles that name them. */
const columns = {
  address: ['address', 'email', 'e-mail', 'mail', 'email address', 'e-mail address'],
  roles: ['roles', 'role'],
  department: ['department', 'departments'],
  ID: ['id', 'external_id', 'external id'],
}
type Column = keyof typeof columns
const everyColumn = Object.keys(columns) as Column[]

/**
 * The columns of a table without titles. An ID without a title could be anything, and would be what questions name a
 * person by.
 */
const usual: Column[] = ['address', 'roles', 'department']
const columnOf = (title: string) =>
  everyColumn.find((column) => columns[column].includes(title.toLowerCase()))

const knownTitles = Object.values(columns).flat()

/** The title that this one misspells; null if none is near: two letters differ, or a third of a longer one. */
function nearestTitle(title: string): string | null {
  const asked = title.toLowerCase()
  const found = closest(asked, knownTitles)
  const most = found.length < 5 ? 1 : Math.max(2, Math.floor(found.length / 3))
  return distance(asked, found) > most ? null : found
}

/**
 * Reads a pasted table of addresses, roles, departments and IDs in applications. A first line without an address that
 * names or misspells a column holds the titles, which can have any order. Every other line that is not empty becomes a
 * row. A row with a fault is not invited, and no row is if the titles have one.
 */
export function readTable(text: string, known: Known): InvitedTable {
  const [first = '', ...others] = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const cells = first.includes('@') ? [] : cellsOf(first)
  const areTitles = cells.some((cell) => columnOf(cell) || nearestTitle(cell))
  const titles = areTitles ? cells : usual
  const seen = new Set<string>()
  const rows = (areTitles ? others : [first, ...others]).filter((line) => line !== '')
  return {
    titles: areTitles ? first : null,
    faults: faultsOf(titles),
    rows: rows.map((line) => readRow(line, titles.map(columnOf), known, seen)),
  }
}

function faultsOf(titles: readonly string[]): string[] {
  const named = titles.map(columnOf)
  return [
    ...titles
      .filter((title) => title !== '' && !columnOf(title))
      .map((title) => words.noColumn(title, nearestTitle(title))),
    ...everyColumn
      .filter((column) => named.indexOf(column) !== named.lastIndexOf(column))
      .map(words.columnTwice),
    ...(named.includes('address') ? [] : [words.noAddressColumn]),
  ]
}

function readRow(
  line: string,
  titles: readonly (Column | undefined)[],
  known: Known,
  seen: Set<string>,
): InvitedRow {
  const cells = cellsOf(line)
  const cell = (column: Column) => cells[titles.indexOf(column)] ?? ''
  const [email, department] = [cell('address'), cell('department')]
  const roles = cell('roles')
    .split(/[|/+]/)
    .flatMap((role) => role.trim() || [])
  const found = known.departments.find(({ name }) => name.toLowerCase() === department.toLowerCase())
  const unknown = roles.filter((role) => !known.roles.includes(role))
  const faults = [
    ...(isAddress(email) ? [] : [words.noAddress]),
    ...(seen.has(email.toLowerCase()) ? [words.twice] : []),
    ...(unknown.length > 0 ? [words.noRole(unknown.join(', '))] : []),
    ...(department !== '' && !found ? [words.noDepartment(department)] : []),
    ...(cells.slice(titles.length).some((cell) => cell !== '') ? [words.tooWide(titles.length)] : []),
  ]
  seen.add(email.toLowerCase())
  const chosen = roles.length > 0 ? roles : ['member']
  return {
    line,
    email,
    roles: chosen,
    department,
    departmentId: found?.id ?? null,
    externalId: cell('ID') || null,
    faults,
  }
}

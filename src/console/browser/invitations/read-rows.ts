import { texts } from './texts.ts'

/** A row of a pasted table: whom to invite, and what is wrong with it. */
export interface InvitedRow {
  /** As it was pasted, so that what is refused can be corrected. */
  line: string
  email: string
  roles: string[]
  department: string
  departmentId: string | null
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

/**
 * Reads a pasted table of addresses, roles and departments, with or without a line of titles. Every line that is not
 * empty becomes a row. A row with a fault is not invited.
 */
export function readRows(text: string, known: Known): InvitedRow[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const titles = lines[0] && !lines[0].includes('@') ? 1 : 0
  const seen = new Set<string>()
  return lines.slice(titles).map((line) => {
    const [email = '', roleList = '', department = ''] = cellsOf(line)
    const roles = roleList.split(/[|/+]/).flatMap((role) => role.trim() || [])
    const found = known.departments.find(({ name }) => name.toLowerCase() === department.toLowerCase())
    const unknown = roles.filter((role) => !known.roles.includes(role))
    const faults = [
      ...(isAddress(email) ? [] : [words.noAddress]),
      ...(seen.has(email.toLowerCase()) ? [words.twice] : []),
      ...(unknown.length > 0 ? [words.noRole(unknown.join(', '))] : []),
      ...(department !== '' && !found ? [words.noDepartment(department)] : []),
    ]
    seen.add(email.toLowerCase())
    const chosen = roles.length > 0 ? roles : ['member']
    return { line, email, roles: chosen, department, departmentId: found?.id ?? null, faults }
  })
}

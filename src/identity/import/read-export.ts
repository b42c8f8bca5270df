import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { readerOf, type Source } from './export-formats.ts'
import { LineFault, type NumberedRow, readRow } from './import-row.ts'

/** Where the rows come from, and what all of them get. */
export interface Export {
  file: string
  from: Source
  /** Of an export of Firebase, the text of its “password hash parameters”. */
  firebaseHash?: string | undefined
  /** The membership of each person for whom the file names none. */
  membership?: { tenant: string; roles: string[] } | undefined
}

/**
 * The rows of a file, one after the other, each with the number of its line, or the faults of one. The file is JSON Lines, one
 * list of JSON, or one document with a list `users`. A document is read whole (512 MB at most).
 */
export async function* readExport(from: Export): AsyncGenerator<NumberedRow | LineFault[]> {
  const toRow = readerOf(from.from, from.firebaseHash)
  for await (const { line, text, value } of objectsOf(from.file)) {
    const object = value ?? parsed(line, text!)
    if (object instanceof LineFault) yield [object]
    else yield readRow(line, withMembership(from, toRow(object)))
  }
}

const withMembership = ({ membership }: Export, row: unknown): unknown =>
  membership && isObject(row) && !(Array.isArray(row.memberships) && row.memberships.length > 0)
    ? { ...row, memberships: [membership] }
    : row

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function parsed(line: number, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return new LineFault(line, 'line', 'this is no JSON')
  }
}

interface Line {
  line: number
  text?: string
  value?: unknown
}

async function* objectsOf(file: string): AsyncGenerator<Line> {
  const whole = await documentOf(file)
  if (whole) {
    for (const [index, value] of whole.entries()) yield { line: index + 1, value }
    return
  }
  let line = 0
  for await (const text of createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    line++
    if (text.trim() !== '') yield { line, text: line === 1 ? text.replace(/^\uFEFF/, '') : text }
  }
}

/** The list of a file that is one document; null for JSON Lines, whose first line is an object of its own. */
async function documentOf(file: string): Promise<readonly unknown[] | null> {
  const lines = createInterface({ input: createReadStream(file) })
  for await (const text of lines) {
    if (text.trim() === '') continue
    lines.close()
    const first = parsed(1, text)
    if (
      isObject(first) &&
      !(first instanceof LineFault) &&
      !Array.isArray(first) &&
      !Array.isArray(first.users)
    )
      return null
    if (first instanceof LineFault && !/^\s*[[{]\s*$/.test(text)) return null
    const document = parsed(1, await readFile(file, 'utf8'))
    if (Array.isArray(document)) return document
    const users = isObject(document) && !(document instanceof LineFault) ? document.users : undefined
    return Array.isArray(users) ? users : null
  }
  return null
}

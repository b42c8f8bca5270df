import { LineFault, type NumberedRow } from './import-row.ts'
import { assertImportable, type ImportDeps, type KnownRow, look } from './known-row.ts'
import type { Given } from './record-import.ts'
import { joiningsOf } from './tenants-of-import.ts'
import { type Outcome, writeNew, writeRow } from './write-rows.ts'

// An import reads its file twice. The first pass looks for every fault, and nothing is written if there is one. The second one
// writes in batches. A row is recorded with what it wrote, so a run that was ended goes on where it ended.

interface Import extends Given {
  rows(): AsyncIterable<NumberedRow | LineFault[]>
  /** Called after each batch with how many rows are done. */
  progress?(done: number, all: number): void
}

/** What a pass found; `faults` are the first 100 of `faultCount`. */
export interface Checked {
  rows: number
  faults: readonly LineFault[]
  faultCount: number
}

const shownFaults = 100
const perBatch = 200

/** Looks for every fault of a file. */
export async function checkImport(deps: ImportDeps, { rows, source }: Import): Promise<Checked> {
  const faults: LineFault[] = []
  let count = 0
  const add = (some: readonly LineFault[]) => {
    count += some.length
    faults.push(...some.slice(0, shownFaults - faults.length))
  }
  const joinings = joiningsOf(deps)
  const seen = { id: new Map<string, number>(), email: new Map<string, number>() }
  let all = 0
  for await (const batch of inBatches(rows())) {
    all += batch.length
    add(batch.filter((one) => Array.isArray(one)).flat())
    const read = batch.filter(isRow)
    for (const { line, row } of read)
      for (const field of ['id', 'email'] as const) {
        const before = seen[field].get(row[field])
        if (before === undefined) seen[field].set(row[field], line)
        else add([new LineFault(line, field, `line ${before} has the same ${field}`, 'twice')])
      }
    for (const row of read) add(await faultsOf(() => joinings(row)))
    for (const row of await look(deps, source, read)) add(await faultsOf(() => assertImportable(row)))
  }
  return { rows: all, faults, faultCount: count }
}

const isRow = (one: NumberedRow | LineFault[]): one is NumberedRow => !Array.isArray(one)

async function faultsOf(work: () => unknown): Promise<LineFault[]> {
  try {
    await work()
    return []
  } catch (error) {
    if (error instanceof LineFault) return [error]
    throw error
  }
}

/** How many rows had each outcome, and the lines of people who had an account before: only their memberships came. */
export type Report = Record<Outcome, number> & { kept: readonly number[] }

/**
 * Writes the rows of a file that {@link checkImport} found no fault in. Throws {@link LineFault} at a conflict that arose
 * since; what was written stays, and another run goes on.
 */
export async function importPeople(
  deps: ImportDeps,
  { rows, all, ...given }: Import & { all: number },
): Promise<Report> {
  const report = { created: 0, joined: 0, secured: 0, known: 0 }
  const kept: number[] = []
  const joinings = joiningsOf(deps)
  let done = 0
  for await (const batch of inBatches(rows())) {
    const read = batch.filter(isRow)
    if (read.length < batch.length) throw batch.flatMap((one) => (Array.isArray(one) ? one : []))[0]!
    const known = await look(deps, given.source, read)
    const rowsOfBatch = await Promise.all(
      known.map(async (row) => {
        assertImportable(row)
        return { ...row, joinings: await joinings(row) }
      }),
    )
    for (const [row, outcome] of await writeBatch(deps, given, rowsOfBatch)) {
      report[outcome]++
      if (outcome === 'joined') kept.push(row.line)
    }
    done += batch.length
    given.progress?.(done, all)
  }
  return { ...report, kept }
}

/**
 * New people go together. Where one of them cannot be written, each goes alone, and the one that cannot says why; alone go
 * also those who have an account, and further memberships.
 */
async function writeBatch(
  deps: ImportDeps,
  given: Given,
  batch: readonly KnownRow[],
): Promise<ReadonlyMap<KnownRow, Outcome>> {
  const outcomes = new Map<KnownRow, Outcome>(batch.filter(isDone).map((row) => [row, 'known']))
  const isNew = ({ account, imported, joinings }: KnownRow) => !account && !imported && joinings.length > 0
  const groups = Object.groupBy(batch.filter(isNew), ({ joinings }) => joinings[0]!.tenantId)
  for (const group of Object.values(groups)) {
    const isWritten = await writeNew(deps, given, group!).then(
      () => true,
      () => false,
    )
    if (isWritten) for (const row of group!) outcomes.set(row, 'created')
  }
  for (const row of batch)
    if (!outcomes.has(row) || (outcomes.get(row) === 'created' && row.joinings.length > 1)) {
      const [found] = await look(deps, given.source, [row])
      const outcome = await writeRow(deps, given, { ...row, ...found! })
      if (!outcomes.has(row)) outcomes.set(row, outcome)
    }
  return outcomes
}

const isDone = ({ imported, joinings }: KnownRow) =>
  imported !== null && imported.memberships >= joinings.length

async function* inBatches<T>(rows: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const row of rows) {
    batch.push(row)
    if (batch.length < perBatch) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

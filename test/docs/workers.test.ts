import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Actor } from '../../workers/actor.ts'
import { actors } from '../../workers/actors.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const units = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

/** A time (ms) as text, in the largest unit that gives a whole number. */
function time(ms: number): string {
  const [unit, size] = units.find(([, size]) => ms % size === 0) ?? ['ms', 1]
  return `${ms / size} ${unit}`
}

/** The cells of the table that come from the definition of the actor. */
function row({ name, description }: Actor): string {
  const { queue, every, concurrency, attempts, backoff, lockDuration, afterwards } = description
  const cells = [
    `\`${name}\``,
    queue ? `\`${queue}\`` : 'none',
    every === null ? 'per message' : `every ${time(every)}`,
    concurrency,
    Number.isFinite(attempts) ? attempts : 'without end',
    backoff ? `${time(backoff.first)} to ${time(backoff.longest)}` : '–',
    lockDuration === null ? '–' : time(lockDuration),
    afterwards,
  ]
  return `| ${cells.join(' | ')} |`
}

/** The rows of the table with the first heading `Actor`. */
const rowsOf = (text: string) => {
  const lines = text.split('\n')
  const head = lines.findIndex((line) => line.startsWith('| Actor |'))
  return lines.slice(head + 2).slice(
    0,
    lines.slice(head + 2).findIndex((line) => !line.startsWith('|')),
  )
}

t.test('the table has every actor, with the values of its definition', async (t) => {
  const rows = rowsOf(read('docs/reference/workers.md'))
  const shown = rows.map((line) => `${line.split(' | ').slice(0, 8).join(' | ')} |`)
  t.strictSame(shown, actors.map(row), 'replace the rows by these')
  for (const line of rows) t.match(line.split(' | ')[8], /\S{2} \|$/, 'each says what it does')
})

t.test('the architecture page names every actor', async (t) => {
  const names = rowsOf(read('docs/explanation/architecture.md')).map(
    (line) => /^\| `([^`]+)`/.exec(line)?.[1],
  )
  t.same(names.toSorted(), actors.map(({ name }) => name).toSorted(), 'each has a line')
})

t.test('the numbers of connections in the document are right', async (t) => {
  const text = read('docs/reference/workers.md')
  const consuming = actors.filter(({ description }) => description.queue)
  t.match(
    text,
    `Each actor with a queue; ${consuming.length} of them | – | 4 each, ${4 * consuming.length} |`,
  )
  t.match(text, `| **7**, and ${consuming.length + 2} to Redis | **${6 + 1 + 3 + 4 * consuming.length}** |`)
})

import { useQuery } from '@tanstack/react-query'
import { Ghosts } from '../parts/notice.tsx'
import type { DiffLine } from './diff-lines.ts'
import { texts } from './texts.ts'
import { writeJson } from './write-json.ts'

const around = 3
type Row = DiffLine | { skipped: number }

/** Replaces long runs of unchanged lines by their number. */
function shortened(lines: readonly DiffLine[]): Row[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ sign }) => sign !== ' '),
  )
  const rows: Row[] = []
  for (const [index, line] of lines.entries()) {
    const last = rows.at(-1)
    if (isNear[index]) rows.push(line)
    else if (last && 'skipped' in last) last.skipped++
    else rows.push({ skipped: 1 })
  }
  return rows
}

const names = { '-': texts.removed, '+': texts.added, ' ': '' }

const signed = (sign: DiffLine['sign'], text: string): DiffLine[] =>
  text.split('\n').map((line) => ({ sign, text: line }))

/** Two values as JSON: what was removed and what was added, line by line. */
export function JsonDiff({ before, after }: { before: unknown; after: unknown }) {
  const [one, other] = [writeJson(before), writeJson(after)]
  const query = useQuery({
    queryKey: ['diff', one, other],
    queryFn: async () => (await import('./diff-lines.ts')).diffLines(one, other),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (one === other) return <p className="muted">{texts.noDifference}</p>
  if (query.isPending) return <Ghosts rows={3} />
  const lines = query.data ?? [...signed('-', one), ...signed('+', other)]
  return (
    <ol className="diff-lines">
      {shortened(lines).map((row, index) =>
        'skipped' in row ? (
          <li key={index} className="diff-skipped">
            {texts.same(row.skipped)}
          </li>
        ) : (
          <li key={index} data-sign={row.sign}>
            <span aria-hidden="true">{row.sign}</span>
            {row.sign !== ' ' && <span className="hidden-text">{names[row.sign]}</span>}
            <code>{row.text}</code>
          </li>
        ),
      )}
    </ol>
  )
}

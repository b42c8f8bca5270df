const minute = 60_000
const maxKeys = 1_000

interface Tally<Sums> {
  since: number
  /** What was added since the last emission; undefined for nothing. */
  sums: Sums | undefined
  timer?: NodeJS.Timeout
}

/** Calls `work` once after `ms`; the process does not wait for it. */
const later = (work: () => void, ms: number): NodeJS.Timeout => setTimeout(work, ms).unref()

/**
 * Makes a counter that sums numbers per key and emits the sums of a key at most once a minute. The first call of a key
 * emits at once. Later calls add up; their total is emitted when the minute is over. `at` is in ms since 1970. The last
 * minute before the end of the process is not emitted.
 */
export function sumPerMinute<Sums extends Record<string, number>>(
  emit: (key: string, sums: Sums) => void,
  startTimer = later,
): (key: string, sums: Sums, at: number) => void {
  const tallies = new Map<string, Tally<Sums>>()

  function close(key: string, tally: Tally<Sums>): void {
    clearTimeout(tally.timer)
    tallies.delete(key)
    if (tally.sums) emit(key, tally.sums)
  }

  return (key, sums, at) => {
    const open = tallies.get(key)
    if (open && at - open.since < minute) {
      open.sums = open.sums ? addUp(open.sums, sums) : sums
      open.timer ??= startTimer(
        () => {
          close(key, open)
          tallies.set(key, { since: open.since + minute, sums: undefined })
        },
        minute - (at - open.since),
      )
      return
    }
    if (open) close(key, { ...open, sums: undefined })
    emit(key, open?.sums ? addUp(open.sums, sums) : sums)
    tallies.set(key, { since: at, sums: undefined })
    for (const [oldest, tally] of tallies)
      if (tallies.size > maxKeys) close(oldest, tally)
      else break
  }
}

const addUp = <Sums extends Record<string, number>>(one: Sums, other: Sums) =>
  Object.fromEntries(Object.entries(other).map(([name, value]) => [name, value + (one[name] ?? 0)])) as Sums

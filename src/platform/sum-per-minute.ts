const minute = 60_000
const maxKeys = 1_000

/**
 * Makes a counter that sums numbers per key and emits the sums of a key at most once a minute. The first call of a key
 * emits at once. Later calls add up, and the first call after a minute emits the total. `at` is in ms since 1970. Sums
 * that no later call follows are not emitted.
 */
export function sumPerMinute<Sums extends Record<string, number>>(
  emit: (key: string, sums: Sums) => void,
): (key: string, sums: Sums, at: number) => void {
  const tallies = new Map<string, { since: number; sums: Sums }>()
  return (key, sums, at) => {
    const open = tallies.get(key)
    const total = open ? addUp(open.sums, sums) : sums
    const due = !open || at - open.since >= minute
    if (due) emit(key, total)
    tallies.set(key, due ? { since: at, sums: none(sums) } : { since: open.since, sums: total })
    if (tallies.size > maxKeys) tallies.delete(tallies.keys().next().value!)
  }
}

const addUp = <Sums extends Record<string, number>>(one: Sums, other: Sums) =>
  Object.fromEntries(Object.entries(other).map(([name, value]) => [name, value + (one[name] ?? 0)])) as Sums

const none = <Sums extends Record<string, number>>(sums: Sums) =>
  Object.fromEntries(Object.keys(sums).map((name) => [name, 0])) as Sums

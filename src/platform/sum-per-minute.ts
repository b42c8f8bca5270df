const minute = 60_000
const maxKeys = 1_000

/**
 * Sums up what may happen often, and hands on the sums of a key: at once, and then once a minute at most, together with
 * what came meanwhile. `at` is in ms since 1970. Sums of a last, unfinished minute are handed on with the next one.
 */
export function sumPerMinute<Sums extends Record<string, number>>(
  handOn: (key: string, sums: Sums) => void,
): (key: string, sums: Sums, at: number) => void {
  const tallies = new Map<string, { since: number; sums: Sums }>()
  return (key, sums, at) => {
    const open = tallies.get(key)
    const total = open ? addUp(open.sums, sums) : sums
    const due = !open || at - open.since >= minute
    if (due) handOn(key, total)
    tallies.set(key, due ? { since: at, sums: none(sums) } : { since: open.since, sums: total })
    if (tallies.size > maxKeys) tallies.delete(tallies.keys().next().value!)
  }
}

const addUp = <Sums extends Record<string, number>>(one: Sums, other: Sums) =>
  Object.fromEntries(Object.entries(other).map(([name, value]) => [name, value + (one[name] ?? 0)])) as Sums

const none = <Sums extends Record<string, number>>(sums: Sums) =>
  Object.fromEntries(Object.keys(sums).map((name) => [name, 0])) as Sums

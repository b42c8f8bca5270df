import { lettersBetween } from '../text/nearest-name.ts'

// What it costs to add a segment, to leave one out, and to take a word for the value of a parameter. A letter costs one.
const [added, omitted, filled] = [2, 3, 3]
const most = 4
const longest = 200
const isId = /^[0-9a-f-]{8,}$|\d|[{<:]/i

/** Makes a function that gives the path nearest to one that nothing serves, as documents write it; null if none is near. */
export function pathFinder(paths: readonly string[]): (asked: string) => string | null {
  const known = [...new Set(paths)].map((path) => ({ path, segments: segmentsOf(path) }))
  const words = [...new Set(known.flatMap(({ segments }) => segments))]
  return (asked) => {
    const segments = segmentsOf(asked.toLowerCase())
    if (asked.length > longest || segments.length > most * 3) return null
    const costs = segments.map((one) => new Map(words.map((word) => [word, segmentCost(one, word)])))
    let found: string | null = null
    let least = most + 1
    for (const { path, segments: route } of known) {
      const cost = costBetween(costs, route)
      if (cost < least) [found, least] = [path, cost]
    }
    return found && `${found.replace(/:(\w+)/g, '{$1}')}/`
  }
}

const segmentsOf = (path: string) => path.split('/').filter(Boolean)

function segmentCost(asked: string, word: string): number {
  if (asked === word) return 0
  if (word.startsWith(':')) return isId.test(asked) ? 0 : filled
  return lettersBetween(asked, word, Math.max(1, Math.floor(word.length / 2.5)))
}

/** The least cost of turning the segments of a path into those of a route; infinite if it is more than `most`. */
function costBetween(asked: readonly ReadonlyMap<string, number>[], route: readonly string[]): number {
  const { length } = route
  if (length - asked.length > most / added || asked.length - length > most / omitted)
    return Number.POSITIVE_INFINITY
  let row = Array.from({ length: length + 1 }, (_, index) => index * added)
  for (const costs of asked) {
    const next = [row[0]! + omitted]
    for (let i = 0; i < length; i++)
      next.push(Math.min(next[i]! + added, row[i + 1]! + omitted, row[i]! + costs.get(route[i]!)!))
    if (Math.min(...next) > most) return Number.POSITIVE_INFINITY
    row = next
  }
  return row[length]!
}

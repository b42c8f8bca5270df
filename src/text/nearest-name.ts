/** A name without what people get wrong first: its case, and its underscores. */
const plain = (name: string) => name.toLowerCase().replaceAll('_', '')

// No known name is as long. The rest would only take time.
const longest = 64

/**
 * The known name that this one misspells; null for none. They differ by case or `_`, or, where both have five letters or
 * more, by at most two letters.
 */
export function misspelt(name: string, known: Iterable<string>): string | null {
  const asked = plain(name.slice(0, longest))
  return nearest(asked, known, ({ length }) => (Math.min(length, asked.length) < 5 ? 0 : 2))
}

/** The known name that was probably meant; null if none is near: two letters differ, or a third of a longer name. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  const most = ({ length }: string) => (length < 5 ? 1 : Math.max(2, Math.floor(length / 3)))
  return nearest(plain(name.slice(0, longest)), known, most)
}

function nearest(asked: string, known: Iterable<string>, mostOf: (name: string) => number): string | null {
  let found: string | null = null
  let least = Number.POSITIVE_INFINITY
  for (const name of known) {
    const distance = lettersBetween(asked, plain(name), Math.min(mostOf(plain(name)), least))
    if (distance < least) [found, least] = [name, distance]
  }
  return found
}

/** How many letters have to be added, left out or replaced (Levenshtein); infinite if it is more than `most`. */
export function lettersBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
    if (Math.min(...row) > most) return Number.POSITIVE_INFINITY
  }
  const distance = row.at(-1)!
  return distance > most ? Number.POSITIVE_INFINITY : distance
}

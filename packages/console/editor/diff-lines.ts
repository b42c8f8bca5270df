export interface DiffLine {
  sign: '-' | '+' | ' '
  text: string
}

/** The lines of two texts: removed, added and common ones, by their longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [one, other] = [before.split('\n'), after.split('\n')]
  const length = lengthsOf(one, other)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < one.length || j < other.length) {
    if (i < one.length && one[i] === other[j]) lines.push({ sign: ' ', text: one[i++]! }) && j++
    else if (j >= other.length || (i < one.length && length[i + 1]![j]! >= length[i]![j + 1]!))
      lines.push({ sign: '-', text: one[i++]! })
    else lines.push({ sign: '+', text: other[j++]! })
  }
  return lines
}

/** For each pair of positions, how many lines the rests of both texts have in common, in order. */
function lengthsOf(one: readonly string[], other: readonly string[]): Uint16Array[] {
  const length = [...Array(one.length + 1)].map(() => new Uint16Array(other.length + 2))
  for (let i = one.length - 1; i >= 0; i--)
    for (let j = other.length - 1; j >= 0; j--)
      length[i]![j] =
        one[i] === other[j] ? length[i + 1]![j + 1]! + 1 : Math.max(length[i + 1]![j]!, length[i]![j + 1]!)
  return length
}

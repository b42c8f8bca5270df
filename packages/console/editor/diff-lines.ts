import { diff } from '@codemirror/merge'

export interface DiffLine {
  sign: '-' | '+' | ' '
  text: string
}

/** The lines of two texts: removed, added and common ones. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [one, other] = [before.split('\n'), after.split('\n')]
  // Each line becomes a character that stands for its text, because the package compares characters.
  const codes = new Map(
    [...new Set([...one, ...other])].map((line, code) => [line, String.fromCharCode(code)]),
  )
  const coded = (lines: readonly string[]) => lines.map((line) => codes.get(line)).join('')
  const signed = (sign: DiffLine['sign'], lines: readonly string[]) => lines.map((text) => ({ sign, text }))
  const changes = diff(coded(one), coded(other))
  return [...changes, { fromA: one.length, toA: one.length, fromB: 0, toB: 0 }].flatMap(
    ({ fromA, toA, fromB, toB }, index) => [
      ...signed(' ', one.slice(changes[index - 1]?.toA ?? 0, fromA)),
      ...signed('-', one.slice(fromA, toA)),
      ...signed('+', other.slice(fromB, toB)),
    ],
  )
}

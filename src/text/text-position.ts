/** A position in a text. Both count from 1; columns count UTF-16 code units. */
export interface TextPosition {
  line: number
  column: number
}

/** The position of an offset; that of the beginning for -1. */
export function positionAt(text: string, offset: number): TextPosition {
  const before = text.slice(0, Math.max(0, offset)).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

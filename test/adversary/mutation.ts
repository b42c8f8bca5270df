/** A mistake in the security code. `find` stands exactly once in the file. */
export interface Mutation extends Edit {
  what: string
  /** The attacks that can see it. */
  attacks: readonly string[]
  /** A second guard that goes too: with it, the first alone would not be missed. */
  also?: Edit
}

/** A text of a file and what stands there instead. */
export interface Edit {
  file: string
  find: string
  replace: string
}

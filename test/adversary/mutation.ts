/** A mistake in the security code. `find` stands exactly once in the file. */
export interface Mutation extends Edit {
  what: string
  /** The attacks that can see it. */
  attacks: readonly string[]
  /** Other guards that go too: with one of them, the first alone would not be missed. */
  also?: readonly Edit[]
}

/** A text of a file and what stands there instead. */
export interface Edit {
  file: string
  find: string
  replace: string
}

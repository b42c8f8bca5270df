/** A mistake in the security code. `find` stands exactly once in the file. */
export interface Mutation {
  what: string
  /** The attacks that can see it. */
  attacks: readonly string[]
  file: string
  find: string
  replace: string
}

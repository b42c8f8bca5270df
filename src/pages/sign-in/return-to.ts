/**
 * Where a sign-in leads to: a path of the service, with one leading `/`, then neither `/` nor `\`, and no control
 * characters. Null for anything else, so that no link to the pages leads people to another site.
 */
export const returnPath = (text: string | undefined): string | null =>
  text !== undefined && text.length <= 2_000 && /^\/(?![/\\])[^\p{Cc}\\]*$/u.test(text) ? text : null

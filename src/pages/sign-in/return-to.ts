/**
 * Where a sign-in leads to: a path of the service, with one leading `/`, then neither `/` nor `\`, in printable ASCII, which
 * a header takes. Null for anything else, so that no link to the pages leads people to another site.
 */
export const returnPath = (text: string | undefined): string | null =>
  text !== undefined && text.length <= 2_000 && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text) ? text : null

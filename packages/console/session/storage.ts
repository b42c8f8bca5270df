// What a person leaves in this browser, beside the appearance, which is a preference and stays.

/** The tests of a policy: the user, the tenant and the policy follow. */
export const testsPrefix = 'bailiwick-tests '

// Pages of applications use the same key for theirs, so that the nonce is that of the last link: src/pages/browser/magic-link.js.
const linkKey = 'bailiwick-magic-link'
const ofConsole = 'console:'

/** Keeps the nonce of a link that was asked for. */
export const keepNonce = (nonce: string): void => localStorage.setItem(linkKey, ofConsole + nonce)

/** Deletes the tests of policies, the nonce of a link and what /docs kept in earlier releases, at a sign-out. */
export function emptyStorage(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(testsPrefix)) localStorage.removeItem(key)
  localStorage.removeItem('authorized')
  if (localStorage.getItem(linkKey)?.startsWith(ofConsole)) localStorage.removeItem(linkKey)
}

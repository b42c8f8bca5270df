// What a person leaves in this browser, beside the appearance, which is a preference and stays.

/** The tests of a policy: the user, the tenant and the policy follow. */
export const testsPrefix = 'bailiwick-tests '

/** Deletes the tests of policies, and what /docs kept in earlier releases, at a sign-out. */
export function emptyStorage(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(testsPrefix)) localStorage.removeItem(key)
  localStorage.removeItem('authorized')
}

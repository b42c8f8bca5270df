import { makeAccounts } from '../stage.ts'

/** Registers a person and logs them in. */
export async function signUp(url: string, name: string): Promise<{ id: string; access: string }> {
  const [person] = await makeAccounts(url, 1, name)
  const { access } = person!
  const { sub } = JSON.parse(Buffer.from(access.split('.')[1]!, 'base64url').toString())
  return { id: sub, access }
}

/** The headers of a call with a JSON body. */
export const bearer = (access: string) => ({
  'content-type': 'application/json',
  authorization: `Bearer ${access}`,
})

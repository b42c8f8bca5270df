import { setTimeout as sleep } from 'node:timers/promises'
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

/** Posts JSON, again after each 503 (a budget that is used up), and gives the answer. Throws unless it is 2xx. */
export async function insist(access: string, url: string, body: unknown): Promise<Record<string, string>> {
  for (;;) {
    const answer = await fetch(url, { method: 'POST', headers: bearer(access), body: JSON.stringify(body) })
    if (answer.ok) return (await answer.json()) as Record<string, string>
    const said = await answer.text()
    if (answer.status !== 503) throw new Error(`${url} answered ${answer.status} ${said}`)
    await sleep(1_000 * Number(answer.headers.get('retry-after') ?? 1))
  }
}

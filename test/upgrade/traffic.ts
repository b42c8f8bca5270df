// biome-ignore lint/suspicious/noExplicitAny: answers of a release whose schemas are not available
type Json = any

/** Calls one process of the service. */
export type Ask = (
  method: string,
  path: string,
  more?: { token?: string; body?: unknown },
) => Promise<{ status: number; body: Json }>

/** Returns a function that calls the process at `url`. */
export function asking(url: string): Ask {
  return async (method, path, { token = '', body } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(300_000),
    })
    const text = await response.text()
    return { status: response.status, body: text ? JSON.parse(text) : null }
  }
}

let people = 0
export const newPerson = () => ({
  email: `up${++people}.${process.pid}@example.com`,
  password: 'a quiet harbour',
})

/** Calls and throws unless the answer has this status. */
export async function expect(status: number, call: ReturnType<Ask>): Promise<Json> {
  const answer = await call
  if (answer.status !== status)
    throw new Error(`${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** The requests of one person, from registration to a decision in their own tenant. */
export async function walk(ask: Ask): Promise<{ tenantId: string; access: string; refresh: string }> {
  const api = '/api/v1'
  const [founder, guest] = [newPerson(), newPerson()]
  await expect(201, ask('POST', `${api}/auth/register/`, { body: founder }))
  const { id: guestId } = await expect(201, ask('POST', `${api}/auth/register/`, { body: guest }))
  const first = await expect(200, ask('POST', `${api}/auth/login/`, { body: founder }))
  const second = await expect(200, ask('POST', `${api}/auth/refresh/`, { body: { refresh: first.refresh } }))
  await expect(200, ask('GET', `${api}/users/me/`, { token: second.access }))
  const tenant = await expect(
    201,
    ask('POST', `${api}/tenants/`, { token: second.access, body: { name: 'Moving' } }),
  )
  const pair = await expect(
    200,
    ask('POST', `${api}/auth/switch-tenant/`, { token: second.access, body: { tenant_id: tenant.id } }),
  )
  const member = { token: pair.access, body: { user_id: guestId } }
  await expect(201, ask('POST', `${api}/tenants/${tenant.id}/members/`, member))
  const question = {
    subject: { type: 'user', id: guestId },
    action: { name: 'read' },
    resource: { type: 'record', id: 'record-1' },
  }
  await expect(200, ask('POST', '/access/v1/evaluation', { token: pair.access, body: question }))
  return { tenantId: tenant.id, access: pair.access, refresh: pair.refresh }
}

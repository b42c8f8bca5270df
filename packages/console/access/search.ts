import { call } from '../api/client.ts'

export type Kind = 'actions' | 'subjects' | 'resources'

/** A question to the searches of AuthZEN. */
export interface Asked {
  kind: Kind
  person: string
  action: string
  type: string
  id: string
}

/** The names of actions, or the ids of people or objects; with a token if more follow. */
export interface Found {
  ids: string[]
  token: string
}

const limit = 25

/** Searches, or goes on after the results before. */
export async function search(asked: Asked, before: Found | null): Promise<Found> {
  const { results, page } = await answerOf(asked, { limit, ...(before && { token: before.token }) })
  return { ids: [...(before?.ids ?? []), ...results], token: page.next_token }
}

async function answerOf(
  { kind, person, action: name, type, id }: Asked,
  page: { limit: number; token?: string },
) {
  const subject = { type: 'user', id: person }
  // An id that is none stands for the list, or a new object.
  const resource = { type, id: id || 'new' }
  const action = { name }
  if (kind === 'actions') {
    const { results, page: next } = await call('POST /access/v1/search/action', {
      body: { subject, resource, page },
    })
    return { results: results.map(({ name }) => name), page: next }
  }
  const { results, page: next } =
    kind === 'subjects'
      ? await call('POST /access/v1/search/subject', {
          body: { subject: { type: 'user' }, action, resource, page },
        })
      : await call('POST /access/v1/search/resource', { body: { subject, action, resource: { type }, page } })
  return { results: results.map(({ id }) => id), page: next }
}

import type { Operations } from '@bailiwick/client'
import { call } from '../api/client.ts'

type Created = Operations['POST /users/me/keys/']['answer']
export type NewKey = Operations['POST /users/me/keys/']['body']

/** The calls for the keys of one holder. */
export interface KeyCalls {
  /** The id of the service account; null for the person's own keys. */
  holder: string | null
  /** The permissions that the calls need; a person needs none for their own keys. */
  needs: { create?: string; rotate?: string; delete?: string }
  list: (
    cursor: string | undefined,
    signal: AbortSignal,
  ) => Promise<Operations['GET /users/me/keys/']['answer']>
  create: (body: NewKey) => Promise<Created>
  rotate: (kid: string, body: { overlap: number; current_password?: string | undefined }) => Promise<Created>
  revoke: (kid: string) => Promise<unknown>
}

const page = (cursor: string | undefined) => ({ page_size: 25, ordering: '-created_at', cursor })

export const ownKeys: KeyCalls = {
  holder: null,
  needs: {},
  list: (cursor, signal) => call('GET /users/me/keys/', { query: page(cursor), signal }),
  create: (body) => call('POST /users/me/keys/', { body }),
  rotate: (kid, body) => call('POST /users/me/keys/{kid}/rotate/', { path: { kid }, body }),
  revoke: (kid) => call('DELETE /users/me/keys/{kid}/', { path: { kid } }),
}

export const keysOf = (id: string): KeyCalls => ({
  holder: id,
  needs: { create: 'api_key:create', rotate: 'api_key:rotate', delete: 'api_key:delete' },
  list: (cursor, signal) =>
    call('GET /service-accounts/{id}/keys/', { path: { id }, query: page(cursor), signal }),
  create: (body) => call('POST /service-accounts/{id}/keys/', { path: { id }, body }),
  rotate: (kid, body) => call('POST /service-accounts/{id}/keys/{kid}/rotate/', { path: { id, kid }, body }),
  revoke: (kid) => call('DELETE /service-accounts/{id}/keys/{kid}/', { path: { id, kid } }),
})

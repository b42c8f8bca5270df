import { withClient } from './query.ts'
import type { Service } from './service.ts'

/** Marks the addresses of these people as verified, as their links do: notices go to proven addresses alone. */
export const proveAddress = (service: Service, ...people: { id: string }[]): Promise<unknown> =>
  withClient(service.databases.superuser, (client) =>
    client.query('update users set email_verified_at = $2 where id = any($1)', [
      people.map(({ id }) => id),
      new Date(service.now()),
    ]),
  )

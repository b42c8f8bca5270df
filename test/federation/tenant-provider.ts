import { query } from '../helpers/query.ts'
import type { Client, Json, Service } from '../helpers/service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import type { Provider } from './provider.ts'

/** What an owner does to let members sign in by a provider, and what a browser does then. */
export function tenantProvider(service: Service, provider: Provider) {
  const database = service.databases.superuser
  const { issuer, clientId: client_id, clientSecret: client_secret } = provider
  return {
    /** An active connection to the provider; gives its id. */
    async connect(owner: Client, more: object = {}): Promise<string> {
      const at = '/api/v1/connections/'
      const oidc = { issuer, client_id, client_secret }
      const { body } = await owner.post(at, { name: 'Nordwind', kind: 'oidc', oidc, ...more })
      await query(
        database,
        `update connections set tested_by = '${owner.id}', tested_at = now() where id = '${body.id}'`,
      )
      const activated: Json = await owner.patch(`${at}${body.id}/`, { status: 'active' })
      if (activated.status !== 200) throw new Error(JSON.stringify(activated.body))
      return body.id
    },
    /** A domain of the owner's tenant, as a record in the DNS shows. */
    verify: (owner: Client, name: string, { lentTo = [] as string[], status = 'verified' } = {}) =>
      query(
        database,
        `insert into domains (tenant_id, id, domain, status, record_value, route, subdomains, lent_to, verified_at, asked_at,
           created_by, created_at, updated_at)
         values ('${owner.tenantId}', gen_random_uuid(), '${name}', '${status}', '', 'always', false,
           '{${lentTo.join()}}', now(), now(), '${owner.id}', now(), now())`,
      ),
    moveTo: ({ id }: { id: string }, email: string) =>
      query(database, `update users set email = '${email}' where id = '${id}'`),
    /** Begins a sign-in there as a person, and gives the address to which it leads back. */
    async begin(id: string, person: Record<string, unknown>, pages: ReturnType<typeof openPages>) {
      provider.person = person
      await pages.visit(`/sign-in/with/${id}/`, { headers: { 'Sec-Fetch-Site': 'same-origin' } })
      // A tenant names where its connection leads, so a page with a button comes first.
      const to = pages.seen().refresh ?? (await pages.send({})).refresh
      const { pathname, search } = new URL(provider.signIn(to!))
      return `${pathname}${search}`
    },
    /** Signs in there as a person, and gives what the browser sees when it is back. */
    async through(id: string, person: Record<string, unknown>, pages = openPages(service)) {
      return { pages, seen: await pages.visit(await this.begin(id, person, pages)) }
    },
  }
}

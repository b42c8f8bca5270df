import { randomUUID } from 'node:crypto'
import { changesOf, readRows } from '../helpers/changed-rows.ts'
import { colleague } from '../helpers/colleague.ts'
import { query, rowsOf } from '../helpers/query.ts'
import type { Client, Service } from '../helpers/service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import type { Provider } from './provider.ts'
import { tenantProvider } from './tenant-provider.ts'

// The table of docs/explanation/federation.md as a model: each upstream with each account says what happens, and which rows change.

/** Two providers of the installation, and a connection by whose the domain of the address is. */
const upstreams = [
  'authority',
  'no authority',
  'own domain',
  'lent domain',
  'lost domain',
  'foreign domain',
] as const
/** Whose account has the address. Of a connection, all but the stranger are members; the last two must not enter by it. */
const accounts = ['none', 'unproven', 'proven', 'inactive', 'stranger', 'suspended', 'may do more'] as const

export interface Row {
  upstream: (typeof upstreams)[number]
  account: (typeof accounts)[number]
  namesAddress: boolean
  /** The identity is linked to the account. */
  isKnown: boolean
  isOtherHere: boolean
}

type Outcome = 'in' | 'refused' | 'address' | 'mail' | 'person'

const ofProviders = (upstream: Row['upstream']) => upstream === 'authority' || upstream === 'no authority'
const both = [true, false]

export const rows: readonly Row[] = upstreams.flatMap((upstream) =>
  accounts
    .slice(0, ofProviders(upstream) ? 4 : undefined)
    .flatMap((account) =>
      both.flatMap((namesAddress) =>
        (account === 'none' ? [false] : both).flatMap((isKnown) =>
          both.map((isOtherHere) => ({ upstream, account, namesAddress, isKnown, isOtherHere })),
        ),
      ),
    ),
)

function outcomeOf({ upstream, account, namesAddress, isKnown, isOtherHere }: Row): Outcome {
  if (ofProviders(upstream)) {
    if (!isKnown && !namesAddress) return 'address'
    if (!isKnown && upstream === 'no authority') return 'mail'
  } else {
    const mayEnter = ['unproven', 'proven', 'inactive'].includes(account)
    const isVouchedFor = upstream === 'own domain' || (upstream === 'lent domain' && account !== 'unproven')
    if (!mayEnter || !(isKnown || (namesAddress && isVouchedFor))) return 'refused'
  }
  if (isOtherHere) return 'person'
  return account === 'inactive' ? 'refused' : 'in'
}

const session = ['+browser_sessions', '+refresh_families', '+sessions']
const ownTenant = [
  ...['+membership_roles', '+memberships', '+person_memberships', '+tenants'],
  ...Array(4).fill('+roles'), // those of the system
]

/** The rows that change: no others do. */
function changesIn({ upstream, account, isKnown }: Row, outcome: Outcome): string[] {
  if (outcome === 'mail') return account === 'none' ? ['+users', ...ownTenant] : []
  if (outcome !== 'in') return []
  if (isKnown) return ['~federated_identities', ...session]
  const linked = ['+federated_identities', ...session]
  if (account === 'none') return [...linked, '+users', ...ownTenant, '+otp_devices', '+sign_in_places']
  if (account === 'proven') return [...linked, '+link_tokens']
  // A first proof: sessions from before end, no membership counts as entered, and the person gets a fresh tenant.
  const forgotten = Array(ofProviders(upstream) ? 1 : 2).fill('~memberships')
  return [...linked, '+link_tokens', '~users', '~sessions', ...forgotten, ...ownTenant, '+otp_devices']
}

const titles: Record<string, Outcome> = {
  'Your email address': 'address',
  'Look into your mailbox': 'mail',
  'Someone is signed in': 'person',
}

/** The settings of a service for {@link tryRows}. */
export const settingsFor = ({ issuer, clientId: client_id, clientSecret: client_secret }: Provider) => ({
  FEDERATION_ALLOWED_HOSTS: 'localhost',
  RATE_LIMIT_ENABLED: 'false',
  SOCIAL_PROVIDERS: JSON.stringify(
    [
      { id: 'authority', name: 'Authority', trust_email: true },
      { id: 'other', name: 'Other' },
    ].map((one) => ({ ...one, kind: 'oidc', issuer, client_id, client_secret })),
  ),
})

interface Seen {
  outcome: Outcome
  changes: string[]
  /** The newest session of the account: of which connection, and confined to which tenant. */
  session: unknown
}

/** Makes these rows true, signs in, and gives what has to be seen and what is. */
export async function* tryRows(service: Service, provider: Provider, chosen: readonly Row[]) {
  const database = service.databases.superuser
  const tenants = tenantProvider(service, provider)
  const { connect, verify, moveTo } = tenants
  const [owner, lender] = [await service.signUp(), await service.signUp()]
  const domain = () => `${randomUUID()}.example`
  const domains = { 'own domain': domain(), 'lent domain': domain(), 'lost domain': domain() }
  await verify(owner, domains['own domain'])
  await verify(owner, domains['lost domain'], { status: 'lost' })
  await verify(lender, domains['lent domain'], { lentTo: [owner.tenantId] })
  const connection = await connect(owner)
  const activator = '{"systemRoles":["admin"],"permissions":[]}'
  await query(database, `update connections set activator = '${activator}' where id = '${connection}'`)
  const here = openPages(service)
  await tenants.through(
    'authority',
    { sub: randomUUID(), email: 'other@here.example', email_verified: true },
    here,
  )

  const make = async ({ upstream, account }: Row, email: string): Promise<Client | null> => {
    if (account === 'none') return null
    const isMember = !ofProviders(upstream) && account !== 'stranger'
    const role = account === 'may do more' ? 'owner' : 'member'
    const made = isMember ? await colleague(service, owner, role) : await service.signUp()
    await moveTo(made, email)
    if (account !== 'unproven')
      await query(database, `update users set email_verified_at = now() where id = '${made.id}'`)
    if (account === 'inactive')
      await query(database, `update users set is_active = false where id = '${made.id}'`)
    if (account === 'suspended')
      await query(
        database,
        `update memberships set status = 'suspended' where user_id = '${made.id}' and tenant_id = '${owner.tenantId}'`,
      )
    return made
  }
  const link = (provider: string, user: Client, subject: string, issuer: string) =>
    query(
      database,
      `insert into federated_identities (id, user_id, provider, tenant_id, connection_id, issuer, attribute, subject, created_at)
       select gen_random_uuid(), '${user.id}', '${provider}', c.tenant_id, c.id, '${issuer}', 'sub', '${subject}', now()
       from (select 1) one left join connections c on c.id::text = '${provider}'`,
    )

  for (const row of chosen) {
    const { upstream, isKnown, isOtherHere, namesAddress } = row
    const at = upstream in domains ? domains[upstream as keyof typeof domains] : domain()
    const [email, sub] = [`${randomUUID()}@${at}`, randomUUID()]
    const user = await make(row, email)
    const id = upstream === 'authority' ? upstream : upstream === 'no authority' ? 'other' : connection
    if (user && isKnown) await link(id, user, sub, provider.issuer)
    const pages = openPages(service)
    if (isOtherHere) for (const [name, value] of here.cookies) pages.cookies.set(name, value)
    const before = await readRows(database)
    const said = { sub, email_verified: true, ...(namesAddress && { email }) }
    const { seen } = await tenants.through(id, said, pages)
    const outcome = seen.status === 403 ? 'refused' : (titles[seen.title] ?? 'in')
    const changes = changesOf(before, await readRows(database))
    const [session] = await rowsOf(
      database,
      `select s.connection_id, s.confined_to from sessions s join users u on u.id = s.user_id
       where u.email = '${email}' and s.amr @> '{fed}'`,
    )
    const expected = outcomeOf(row)
    const isConfined = !ofProviders(upstream)
    yield {
      row,
      seen: { outcome, changes, session } as Seen,
      expected: {
        outcome: expected,
        changes: changesIn(row, expected).sort(),
        session:
          expected === 'in'
            ? {
                connection_id: isConfined ? connection : null,
                confined_to: isConfined ? owner.tenantId : null,
              }
            : undefined,
      } as Seen,
    }
  }
}

import { randomUUID } from 'node:crypto'
import { changesOf, readRows } from '../helpers/changed-rows.ts'
import { colleague } from '../helpers/colleague.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { query, rowsOf } from '../helpers/query.ts'
import type { Client, Service } from '../helpers/service.ts'
import { openPages, type SeenPage } from '../pages/sign-in/page-client.ts'
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
/** Whose account has the address. Of a connection, all but strangers are members; the last two must not enter by it. */
const accounts = [
  ...(['none', 'unproven', 'proven', 'inactive'] as const),
  ...(['stranger', 'unproven stranger', 'suspended', 'may do more'] as const),
] as const

export interface Row {
  upstream: (typeof upstreams)[number]
  account: (typeof accounts)[number]
  namesAddress: boolean
  /** The identity is linked to the account. */
  isKnown: boolean
  isOtherHere: boolean
  /** New people join by the connection: `jit` is `verified_domains`. */
  brings: boolean
}

type Outcome = 'in' | 'refused' | 'invited' | 'address' | 'mail' | 'person'

const ofProviders = (upstream: Row['upstream']) => upstream === 'authority' || upstream === 'no authority'
const both = [true, false]

export const rows: readonly Row[] = upstreams.flatMap((upstream) =>
  accounts.slice(0, ofProviders(upstream) ? 4 : undefined).flatMap((account) =>
    both.flatMap((namesAddress) =>
      (account === 'none' ? [false] : both).flatMap((isKnown) =>
        both.flatMap((isOtherHere) =>
          (ofProviders(upstream) ? [false] : both).map((brings) => ({
            ...{ upstream, account, namesAddress, isKnown, isOtherHere, brings },
          })),
        ),
      ),
    ),
  ),
)

const isStranger = ({ account }: Row) => ['none', 'stranger', 'unproven stranger'].includes(account)

const isShut = (account: Row['account']) => account === 'suspended' || account === 'may do more'

function outcomeOf(row: Row): Outcome {
  const { upstream, account, namesAddress, isKnown, isOtherHere, brings } = row
  if (ofProviders(upstream)) {
    if (!isKnown && !namesAddress) return 'address'
    if (!isKnown && upstream === 'no authority') return 'mail'
  } else {
    const isMember = !isStranger(row)
    if (isMember && isKnown && isShut(account)) return 'refused'
    if (!(isMember && isKnown)) {
      const isOfDomain = upstream === 'own domain' || upstream === 'lent domain'
      if (brings && namesAddress && !isOfDomain) return 'invited'
      // A borrowed domain says nothing of an account that did not prove its address.
      const isVouchedFor =
        namesAddress && (upstream === 'own domain' || isKnown || !/unproven/.test(account)) && isOfDomain
      if (!isVouchedFor || isShut(account) || !(isMember || brings)) return 'refused'
    }
  }
  if (isOtherHere) return 'person'
  return account === 'inactive' ? 'refused' : 'in'
}

const session = ['+browser_sessions', '+refresh_families', '+sessions']
const membership = ['+membership_roles', '+memberships', '+person_memberships']
const ownTenant = [...membership, '+tenants', ...Array(4).fill('+roles')] // those of the system

/** The rows that change: no others do. */
function changesIn(row: Row, outcome: Outcome): string[] {
  const { upstream, account, isKnown } = row
  if (outcome === 'mail') return account === 'none' ? ['+users', ...ownTenant] : []
  // Members get none, unless the address is not proven to be theirs.
  if (outcome === 'invited') return isStranger(row) || /unproven/.test(account) ? ['+invitations'] : []
  if (outcome !== 'in') return []
  const isFirstProof = !isKnown && /unproven/.test(account)
  const joins = !ofProviders(upstream) && isStranger(row)
  const isNew = account === 'none'
  return [
    ...session,
    isKnown ? '~federated_identities' : '+federated_identities',
    ...(isNew ? ['+users', '+sign_in_places', '+otp_devices'] : []),
    // A mail undoes the link.
    ...(isKnown || isNew ? [] : ['+link_tokens']),
    // A mail leads out of the tenant.
    ...(joins && !isNew ? ['+link_tokens'] : []),
    ...(joins ? membership : []),
    // Sessions from before end, no membership counts as entered, and the person gets a fresh tenant.
    ...(isFirstProof ? ['~users', '~sessions', '~memberships', '+otp_devices'] : []),
    ...(isFirstProof && !ofProviders(upstream) && !joins ? ['~memberships'] : []),
    ...(isFirstProof || (isNew && !joins) ? ownTenant : []),
  ]
}

const titles: Record<string, Outcome> = {
  'Your email address': 'address',
  'Look into your mailbox': 'mail',
  'Someone is signed in': 'person',
}
const seenAs = ({ status, title, text }: SeenPage): Outcome =>
  status !== 403 ? (titles[title] ?? 'in') : text.includes('you get a mail') ? 'invited' : 'refused'

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
  await proveAddress(service, owner) // only who did invites
  const domain = () => `${randomUUID()}.example`
  const domains = { 'own domain': domain(), 'lent domain': domain(), 'lost domain': domain() }
  await verify(owner, domains['own domain'])
  await verify(owner, domains['lost domain'], { status: 'lost' })
  await verify(lender, domains['lent domain'], { lentTo: [owner.tenantId] })
  const [plain, bringing] = [await connect(owner), await connect(owner, { jit: 'verified_domains' })]
  const activator = '{"systemRoles":["admin"],"permissions":[]}'
  await query(database, `update connections set activator = '${activator}'`)
  const here = openPages(service)
  await tenants.through(
    'authority',
    { sub: randomUUID(), email: 'other@here.example', email_verified: true },
    here,
  )

  const make = async (row: Row, email: string): Promise<Client | null> => {
    const { upstream, account } = row
    if (account === 'none') return null
    const isMember = !ofProviders(upstream) && !isStranger(row)
    const role = account === 'may do more' ? 'owner' : 'member'
    const made = isMember ? await colleague(service, owner, role) : await service.signUp()
    await moveTo(made, email)
    if (!/unproven/.test(account))
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
    const { upstream, isKnown, isOtherHere, namesAddress, brings } = row
    const connection = brings ? bringing : plain
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
    const outcome = seenAs(seen)
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

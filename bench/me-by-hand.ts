import { createServer } from 'node:http'
import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'
import pg from 'pg'

// The lower bound for GET /users/me/ with the same guarantees: node:http, a cache of verified tokens, and the same two
// statements, for session, person, membership, roles and permissions, and for all memberships, as the API's role under
// row-level security, in a transaction of one round trip. No router, no policies, no validation, no log.

const { PORT, HOST, DATABASE_API_URL, JWKS_URL } = process.env
const keys = createLocalJWKSet((await (await fetch(JWKS_URL!)).json()) as JSONWebKeySet)
const verified = new Map<string, JWTPayload>()
// Half of the API's connections: it uses the other half for a second pool, for queries across tenants.
const clients = await Promise.all(Array.from({ length: 4 }, connect))
let turn = 0

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: DATABASE_API_URL, pipeline: true })
  await client.connect()
  return client
}

const me = `
  select u.id, u.email, u.first_name, u.last_name, u.is_active, u.date_joined,
         u.email_verified_at is not null as email_verified, t.id as tenant_id, t.name, t.slug, t.status,
         m.status as membership_status,
         exists (select from otp_devices d
                 where d.user_id = u.id and d.type = 'totp' and d.confirmed_at is not null) as mfa_enabled,
         array(select distinct p from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
               cross join lateral unnest(r.permissions) p
               where mr.tenant_id = m.tenant_id and mr.membership_id = m.id) as permissions,
         array(select r.name from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
               where mr.tenant_id = m.tenant_id and mr.membership_id = m.id order by r.created_at, r.id) as roles
  from sessions s join users u on u.id = s.user_id
  join tenants t on t.id = $3 and t.deleted_at is null
  join memberships m on m.tenant_id = t.id and m.user_id = u.id
  where s.id = $1 and s.user_id = $2 and s.ended_at is null and s.expires_at > $4`

createServer(async (request, response) => {
  if (request.url === '/') return response.end()
  const claims = await claimsOf((request.headers.authorization ?? '').slice(7))
  const { sid, sub, tenant_id: tenantId } = claims
  const client = clients[turn++ % clients.length]!
  const [, , { rows }, memberships] = await Promise.all([
    client.query('begin'),
    client.query({
      name: 'scope',
      text: "select set_config('app.tenant_id', $1, true), set_config('app.user_id', $2, true)",
      values: [tenantId, sub],
    }),
    client.query({ name: 'me', text: me, values: [sid, sub, tenantId, new Date()] }),
    client.query({ name: 'memberships', text: 'select * from own_memberships()' }),
    client.query('commit'),
  ])
  response.statusCode = rows.length === 1 ? 200 : 401
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ ...rows[0], memberships: memberships.rows }))
}).listen(Number(PORT), HOST)

async function claimsOf(token: string): Promise<JWTPayload> {
  const known = verified.get(token)
  if (known && known.exp! * 1000 > Date.now()) return known
  const { payload } = await jwtVerify(token, keys, { typ: 'at+jwt' })
  verified.set(token, payload)
  return payload
}

process.on('SIGTERM', () => process.exit(0))

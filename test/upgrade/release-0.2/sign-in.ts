import type { Test } from 'tap'
import { bareEnv } from '../../helpers/bare-env.ts'
import { query } from '../../helpers/query.ts'
import { codeAt } from '../../identity/otp/authenticator.ts'
import { command, present, type Settings, startRelease } from '../release.ts'
import { asking, expect } from '../traffic.ts'
import { ownerIn } from './restore.ts'

/** The lists of a tenant, by the table that counts their rows. */
const lists = {
  roles: 'tenants/$/roles',
  departments: 'tenants/$/departments',
  invitations: 'tenants/$/invitations',
  webhooks: 'webhooks',
  policies: 'policies',
  approval_requests: 'approval-requests',
}

/** On a migrated dump of 0.2: doctor finds no fault, and Ada signs in with her password and app and finds what she had. */
export async function servesWhatIsKept(t: Test, kind: 'postgres' | 'citus', env: Settings): Promise<void> {
  const { code, output } = await command(present, { ...bareEnv, ...env }, 'doctor')
  t.equal(code, 0, output)
  const api = await startRelease(t, present, 'api', env)
  const worker = await startRelease(t, present, 'worker', env)
  const ask = asking(api.url)
  const { email, password, totp } = ownerIn(kind)
  const login = { body: { email, password } }
  const { temporary_token } = await expect(200, ask('POST', '/api/v1/auth/login/', login))
  const verify = { token: temporary_token, body: { code: codeAt(totp, Date.now()) } }
  const { access: token } = await expect(200, ask('POST', '/api/v1/auth/otp/verify/', verify))
  const me = await expect(200, ask('GET', '/api/v1/users/me/', { token }))
  t.match(me, { email, mfa_enabled: true, roles: ['owner'] })
  const { id } = me.current_tenant
  const counts = await query(
    env.DATABASE_URL!,
    `select relation, rows::int from row_counts where tenant_id = '${id}'`,
  )
  for (const [relation, path] of Object.entries(lists)) {
    const body = await expect(200, ask('GET', `/api/v1/${path.replace('$', id)}/`, { token }))
    t.equal(body.count, counts.find((row) => row.relation === relation)?.rows, relation)
  }
  for (const path of ['users', 'attribute-definitions', 'decisions', 'audit-log', 'events']) {
    const body = await expect(200, ask('GET', `/api/v1/${path}/`, { token }))
    t.ok(body.results.length > 0, path)
  }
  const since = { token, body: { name: 'Since the upgrade' } }
  await expect(201, ask('POST', `/api/v1/tenants/${id}/roles/`, since))
  const gated = await expect(403, ask('POST', `/api/v1/tenants/${id}/departments/`, since))
  t.match(gated.detail, /^A policy requires an approval/, 'her policy is in force')
  t.equal(await worker.stop(), 0)
  t.equal(await api.stop(), 0)
}

import { randomUUID } from 'node:crypto'
import t from 'tap'
import { sql, type Tx } from '../../src/database/executor/transaction.ts'
import * as audit from '../../src/events/audit-log/store.ts'
import type { Keyset } from '../../src/lists/keyset.ts'
import type { List, ListPage, ListQuery } from '../../src/lists/list.ts'
import * as departments from '../../src/tenancy/departments/store.ts'
import * as invitations from '../../src/tenancy/invitations/store.ts'
import * as accounts from '../../src/tenancy/members/account-store.ts'
import * as members from '../../src/tenancy/members/list-store.ts'
import { findMember, hasActiveOwner } from '../../src/tenancy/members/store.ts'
import * as roles from '../../src/tenancy/roles/store.ts'
import { plansOf } from '../helpers/explain.ts'
import { startService } from '../helpers/service.ts'
import { foundFirm, look } from './staff.ts'

// Lists, and the queries that changes run before they write, as bailiwick_api runs them: under row-level security an
// index is used only if it begins with tenant_id and its operators are leakproof.

const service = await startService(t, { workers: false })
const { id, owner } = await foundFirm(service)
const scope = { tenantId: id, userId: owner.id }
const { db } = service.deps

// Invitations also have indexes across tenants, for the worker and for recipients. An empty table would not show that
// lists of one tenant are faster without them.
await look(
  service,
  `do $$ begin
    set local session_replication_role = replica;
    insert into invitations (tenant_id, id, email, token_hash, role_ids, invited_by, invited_by_email, created_at, updated_at, expires_at)
    select md5((n % 200)::text)::uuid, gen_random_uuid(), 'p' || n % 50 || '.' || n / 10000 || '@example.test', sha256(n::text::bytea), '{}',
      gen_random_uuid(), '', now(), now(), now() + n * interval '1 minute' from generate_series(1, 10000) n on conflict do nothing;
  end $$`,
)
await look(service, 'analyze invitations')

const byPerson = sql.unsafe`select id from sessions where user_id = ${owner.id}`

type Load = (tx: Tx, tenantId: string, page: ListPage) => Promise<unknown>

const somewhere = randomUUID()
const lists: [string, List, Load, Load, ListQuery[]][] = [
  [
    'members',
    members.memberList,
    members.listMembers,
    members.countMembers,
    [
      { role: 'admin' },
      { status: 'active' },
      { department_id: somewhere },
      { user_id: somewhere },
      { search: 'a' },
      { created_at__gte: '2026-01-01T00:00:00Z', created_at__lte: '2026-02-01T00:00:00Z' },
    ],
  ],
  [
    'service accounts',
    accounts.accountList,
    accounts.listAccounts,
    accounts.countAccounts,
    [{ status: 'disabled' }, { search: 'a' }],
  ],
  ['roles', roles.roleList, roles.listRoles, roles.countRoles, [{ is_system: true }, { search: 'a' }]],
  [
    'departments',
    departments.departmentList,
    departments.listDepartments,
    departments.countListed,
    [{ parent_id: somewhere }, { search: 'a' }],
  ],
  [
    'invitations',
    invitations.invitationList,
    (tx, tenantId, page) => invitations.listInvitations(tx, tenantId, page, service.now()),
    invitations.countInvitations,
    [{ status: 'pending' }, { status: 'expired' }, { email: 'a@example.com' }, { search: 'a' }],
  ],
  [
    'the audit log',
    audit.auditList,
    audit.listAuditLog,
    async () => undefined,
    [{ action: 'member:create' }, { actor_id: somewhere }, { target_id: somewhere }],
  ],
]

for (const [name, list, load, count, filters] of lists)
  t.test(`every list of ${name} uses an index that begins with tenant_id`, async (t) => {
    const orderings = list.query.shape.ordering as { unwrap?: () => { options: string[] } }
    const orders = (orderings.unwrap?.().options ?? []).map((ordering) => ({ ordering }))
    t.ok(orders.length >= 2)
    for (const query of [{}, ...orders, ...filters] as ListQuery[])
      for (const backwards of [false, true]) {
        const byTime = String(query.ordering ?? 'created_at').endsWith('created_at')
        const from = { at: byTime ? service.now() : 'm', id: somewhere }
        for (const place of [null, from]) {
          const keyset: Keyset = { size: 20, from: place, backwards }
          const page = list.page(query, keyset, { tenantId: id, now: service.now() })
          const plans = await plansOf(db, scope, async (tx) => {
            await load(tx, id, page)
            await count(tx, id, page)
          })
          const title = JSON.stringify({ ...query, backwards, from: place !== null })
          t.same(
            plans.flatMap((plan) => plan.faults),
            [],
            title,
          )
          if (filters.includes(query)) continue
          t.notOk(plans[0]!.sorts, `${title} is not sorted: ${plans[0]!.scans}`)
        }
      }
  })

t.test('counting members does not read each person, which took seconds for 100,000', async (t) => {
  const nowhere: Keyset = { size: 20, from: null, backwards: false }
  for (const query of [{ role: 'member' }, { search: 'f' }, { status: 'active' }] as ListQuery[]) {
    const page = members.memberList.page(query, nowhere, { tenantId: id, now: service.now() })
    const [plan] = await plansOf(db, scope, (tx) => members.countMembers(tx, id, page))
    t.notMatch(String(plan!.scans), /users/, JSON.stringify(query))
  }
})

t.test('the queries before a write use such an index too', async (t) => {
  const plans = await plansOf(db, scope, async (tx) => {
    await findMember(tx, id, somewhere)
    await hasActiveOwner(tx, id)
    await roles.findRole(tx, id, somewhere)
    await roles.lockRolesNamed(tx, id, ['admin', somewhere])
    await roles.countCustomRoles(tx, id)
    await roles.deleteUnusedRole(tx, id, somewhere)
    await departments.findDepartment(tx, id, somewhere)
    await departments.isAtOrAbove(tx, id, somewhere, somewhere)
    await departments.deleteEmptyDepartment(tx, id, somewhere)
    await invitations.countPending(tx, id, service.now())
    await invitations.isMemberAddress(tx, id, 'a@example.com')
    await invitations.hasOtherPending(tx, id, 'a@example.com', somewhere)
    await invitations.findInviter(tx, id, somewhere)
    await invitations.lockRolesById(tx, id, [somewhere])
  })
  t.equal(plans.length, 14)
  for (const { statement, faults } of plans) t.same(faults, [], statement.slice(0, 60))
})

t.test('a statement without an index that begins with tenant_id is noticed', async (t) => {
  const [plan] = await plansOf(db, scope, (tx) => tx.any(byPerson))
  t.match(plan!.faults, [/sessions/])
})

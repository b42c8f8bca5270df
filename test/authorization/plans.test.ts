import { randomUUID } from 'node:crypto'
import t from 'tap'
import * as attributes from '../../src/authorization/attributes/store.ts'
import * as decisions from '../../src/authorization/decisions/store.ts'
import { listActivePolicies } from '../../src/authorization/policies/active-store.ts'
import * as policies from '../../src/authorization/policies/store.ts'
import type { Tx } from '../../src/database/executor/transaction.ts'
import type { List, ListPage, ListQuery } from '../../src/lists/list.ts'
import { plansOf } from '../helpers/explain.ts'
import { startService } from '../helpers/service.ts'

const service = await startService(t, { workers: false })
const owner = await service.signUp()
const id = owner.tenantId
const scope = { tenantId: id, userId: owner.id }
const somewhere = randomUUID()

interface Listing {
  list: List
  filters: ListQuery[]
  /** Whether it grows without limit, so that a page must not sort it. */
  endless: boolean
  load(tx: Tx, page: ListPage): Promise<unknown>
}

const listings: Record<string, Listing> = {
  policies: {
    list: policies.policyList,
    filters: [
      { ordering: 'name' },
      { effect: 'deny', is_active: true, mode: 'shadow' },
      { action: 'doc:read' },
      { resource_type: 'doc' },
      { search: 'a' },
    ],
    endless: false,
    async load(tx, page) {
      await policies.listPolicies(tx, id, page)
      await policies.countPolicies(tx, id, page)
    },
  },
  versions: {
    list: policies.versionList,
    filters: [],
    endless: true,
    load: (tx, page) => policies.listVersions(tx, id, somewhere, page),
  },
  'attribute definitions': {
    list: attributes.definitionList,
    filters: [{ category: 'subject', data_type: 'ip' }],
    endless: false,
    async load(tx, page) {
      await attributes.pageOfDefinitions(tx, id, [], page)
      await attributes.countListed(tx, id, [], page)
    },
  },
  decisions: {
    list: decisions.decisionList,
    filters: [{ action: 'doc:read' }, { subject_id: 'a' }, { effect: 'deny' }, { resource_id: 'a' }],
    endless: true,
    load: (tx, page) => decisions.listDecisions(tx, id, null, page),
  },
  'decisions about oneself': {
    list: decisions.decisionList,
    filters: [],
    endless: true,
    load: (tx, page) => decisions.listDecisions(tx, id, owner.id, page),
  },
}

for (const [name, { list, filters, endless, load }] of Object.entries(listings))
  t.test(`the list of ${name} is read by an index led by tenant_id`, async (t) => {
    for (const query of [{}, ...filters])
      for (const backwards of [false, true])
        for (const from of [null, { at: query.ordering ? 'm' : service.now(), id: somewhere }]) {
          const page = list.page(query, { size: 20, from, backwards }, { tenantId: id, now: service.now() })
          const plans = await plansOf(service.deps.db, scope, (tx) => load(tx, page))
          const title = `${JSON.stringify(query)} ${backwards ? 'backwards' : ''} ${from ? 'from a position' : ''}`
          t.same(
            plans.flatMap((plan) => plan.faults),
            [],
            title,
          )
          if (endless) t.notOk(plans[0]!.sorts, `${title} is not sorted: ${plans[0]!.scans}`)
        }
  })

t.test('one policy, its versions, and what a decision reads use an index too', async (t) => {
  const plans = await plansOf(service.deps.db, scope, async (tx) => {
    await policies.findPolicy(tx, id, somewhere)
    await listActivePolicies(tx, id)
    await policies.findVersion(tx, id, somewhere, 1)
    await attributes.listDefinitions(tx, id)
    await attributes.findDefinition(tx, id, somewhere)
    await decisions.findDecision(tx, id, somewhere)
    const about = [{ actions: ['doc:read', 'member:*'], resourceTypes: ['doc'] }]
    await decisions.listNewest(tx, id, { about, shadow: null, limit: 1000 })
    await decisions.listNewest(tx, id, {
      about: [{ actions: ['*'], resourceTypes: [] }],
      shadow: null,
      limit: 1000,
    })
  })
  t.equal(plans.length, 8)
  for (const { statement, faults } of plans) t.same(faults, [], statement.slice(0, 60))
  t.notOk(plans.at(-1)!.sorts)
})

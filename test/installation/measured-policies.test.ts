import t from 'tap'
import { nilUuid } from '../../src/crypto/uuid.ts'
import { asSystem, inTenant } from '../../src/database/executor/transaction.ts'
import { checkManifest, storeManifest } from '../../src/installation/manifests/apply-manifest.ts'
import { measurePolicies } from '../../src/installation/manifests/costly-policies.ts'
import { type Given, giveRules } from '../../src/installation/manifests/give-rules.ts'
import { readInstalledRules } from '../../src/installation/manifests/store.ts'
import { manifestClients } from '../../src/oauth/clients/manifest-clients.ts'
import { startService } from '../helpers/service.ts'

const service = await startService(t, { workers: false })
const { db, sealer } = service.deps
const manifest = JSON.stringify({
  application: 'ferries',
  name: 'Ferries',
  resource_types: { ferry: { description: 'A ferry.', actions: { board: 'Board it.' } } },
  policies: { closed: { name: 'Closed', effect: 'deny', actions: ['ferry:board'] } },
})

t.test('policies are measured between transactions, and again if the tenant changed meanwhile', async (t) => {
  const owner = await service.signUp()
  const write = async (name: string) => {
    const policy = { name, effect: 'allow', actions: ['ferry:board'] }
    t.equal((await owner.post('/api/v1/policies/', policy)).status, 201)
  }
  await write('Own')
  const deps = {
    db,
    clock: service.now,
    maxVersions: 10,
    receivers: { allowPrivate: true, allowedHosts: [] },
    clients: manifestClients(service.deps.config),
    config: { OPA_PATH: undefined, production: false },
    sealer: () => sealer,
  }
  await storeManifest(deps, await checkManifest(deps, manifest))
  const rules = await asSystem(db, 'manifests belong to no tenant', readInstalledRules)
  const { tenantId } = owner
  const requestInfo = { requestId: 'test', ip: '', userAgent: '' } as never
  const recipient = { tenantId, requestInfo, at: service.now(), maxVersions: 10 }
  const give = (options: object): Promise<Given> =>
    inTenant(db, { tenantId, userId: nilUuid }, (tx) => giveRules(tx, rules, recipient, options))
  const managed = async () => (await owner.get('/api/v1/policies/?managed_by=ferries')).body.count

  const first = await give({})
  if (first.outcome !== 'unmeasured') throw new Error(first.outcome)
  const measured = await measurePolicies(first)
  await write('Another')
  const second = await give({ measured })
  if (second.outcome !== 'unmeasured') throw new Error(second.outcome)
  t.equal(await managed(), 0)
  t.match(await give({ measured: await measurePolicies(second) }), { outcome: 'changed', conflicts: [] })
  t.equal(await managed(), 1)
})

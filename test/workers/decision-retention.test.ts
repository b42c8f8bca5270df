import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { decisionRetention, forgetDecisions } from '../../workers/decision-retention.ts'
import { backends, openStage, until } from './stage.ts'

t.setTimeout(120_000)

const day = 86_400_000

/** Keeps `count` decisions of a tenant of the moment `at`. */
const decisions = (tenant: string, count: number, at: number) => `
  insert into decisions (tenant_id, id, at, effect, action, resource_type, subject_id, reasons, matched, obligations,
                         policy_revision, engine_revision, facts, duration_us, request_id)
  select '${tenant}', gen_random_uuid(), '${new Date(at).toISOString()}', 'deny', 'doc:read', 'doc', 'a', '[]', '[]', '[]',
         0, '', '{}', 1, '' from generate_series(1, ${count});`

t.test('decisions are kept for 90 days, and then deleted in batches, of all tenants', async (t) => {
  const { deps, root, rows, tenants } = await openStage(t, { tenants: 2 })
  const [one, other] = tenants as [string, string]
  const now = Date.now()
  const old = now - 90 * day - 1
  await root.query(decisions(one, 2_500, old) + decisions(other, 3, old) + decisions(other, 2, old + 2))
  const counts = () =>
    rows('select tenant_id, count(*)::int from decisions group by tenant_id order by count(*)')
  t.equal(await forgetDecisions({ ...deps, clock: () => now - 1 }), 0)
  t.equal(await forgetDecisions({ ...deps, clock: () => now }), 2_503)
  t.strictSame(await counts(), [{ tenant_id: other, count: 2 }])
  t.equal(await forgetDecisions({ ...deps, clock: () => now }), 0)
  t.equal(await forgetDecisions({ ...deps, clock: () => now + 2 }), 2)
})

t.test('DECISION_RETENTION_DAYS says how long', async (t) => {
  const { deps, root, tenant } = await openStage(t)
  const now = Date.now()
  await root.query(decisions(tenant, 1, now - 8 * day) + decisions(tenant, 1, now - 6 * day))
  const config = { ...deps.config, DECISION_RETENTION_DAYS: 7 }
  t.equal(await forgetDecisions({ ...deps, config, clock: () => now }), 1)
  t.throws(() => readConfig({ DECISION_RETENTION_DAYS: '0' }), /DECISION_RETENTION_DAYS/)
  t.throws(() => readConfig({ DECISION_RETENTION: '7' }), /DECISION_RETENTION is not a setting/)
})

for (const { kind, skip } of backends)
  t.test(`on ${kind} the schedule calls it`, { skip }, async (t) => {
    const { deps, root, rows, tenant, openBackend } = await openStage(t, { kind })
    await root.query(decisions(tenant, 1, Date.now() - 91 * day))
    const backend = openBackend()
    const running = await decisionRetention.start(deps, backend, 200)
    t.teardown(async () => {
      await running.stop()
      await backend.close()
    })
    await until(async () => (await rows('select from decisions')).length === 0)
  })

import { randomUUID } from 'node:crypto'
import t from 'tap'
import { startRelay } from '../../workers/outbox-relay.ts'
import { backends, openStage, type Stage, until } from '../workers/stage.ts'
import { startProcess } from '../workers/worker-process.ts'
import { deadly, failing } from './poison.ts'

const poisonedWorker = new URL('poisoned-worker.ts', import.meta.url).pathname
const others = 200
const rounds = 5

const leave = (stage: Stage, payload: object) =>
  stage.root.query(
    `insert into outbox (tenant_id, id, queue, payload, created_at) values ($1, gen_random_uuid(), 'webhook-once', $2, now())`,
    [stage.tenant, payload],
  )
const message = (webhookId: string) => ({ v: 1, webhook_id: webhookId, delivery_id: randomUUID() })

for (const { kind, skip } of backends)
  t.test(
    `on ${kind} an unreadable message, one that always fails and one that kills the process become dead letters, and 200 others pass`,
    { skip },
    async (t) => {
      const stage = await openStage(t, { kind })
      const backend = stage.openBackend()
      const relay = await startRelay(stage.deps, backend)
      t.teardown(async () => {
        await relay.stop()
        await backend.close()
      })
      for (const payload of [{ v: 7 }, message(failing), message(deadly)]) await leave(stage, payload)
      let deaths = 0
      let over = false
      const keepOne = async () => {
        while (!over) {
          const { child } = await startProcess(t, stage.env, poisonedWorker)
          await until(() => over || child.exitCode !== null || child.signalCode !== null)
          if (child.signalCode === 'SIGKILL') deaths++
          else child.kill('SIGKILL')
        }
      }
      const keeping = keepOne()
      for (let round = 0; round < rounds; round++) {
        for (let n = 0; n < others / rounds; n++) await leave(stage, message(randomUUID()))
        const harmless = `outbox where payload ->> 'webhook_id' not in ('${failing}', '${deadly}')`
        await until(async () => (await stage.count(harmless)) === 0)
      }
      await until(async () => (await stage.count('outbox')) === 0)
      over = true
      await keeping
      const dead = await stage.rows(
        `select payload ->> 'webhook_id' as webhook_id, error, attempts from dead_letters order by error`,
      )
      t.match(dead, [
        { webhook_id: failing, error: /^Error/, attempts: 4 },
        { webhook_id: deadly, error: 'The processes that handled it died' },
        { webhook_id: null, error: /^ZodError/, attempts: 1 },
      ])
      t.ok(deaths >= 2 && deaths <= 6, `${deaths} processes died`)
    },
  )

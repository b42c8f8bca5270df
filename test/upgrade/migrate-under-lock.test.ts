import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { startService } from '../helpers/service.ts'
import { until } from '../workers/stage.ts'
import { nextRelease } from './release.ts'

// A migration needs an exclusive lock on a table for an instant. While it waits for that lock, all later queries on the
// table wait behind it, and the service is down.

const service = await startService(t)
const folder = await nextRelease(t, {
  '9998-first.sql': 'alter table departments add column first_probe text',
  '9999-second.sql': 'alter table departments add column second_probe text',
})
const { migrate } = await import(join(folder, 'src', 'database', 'migrate', 'migrate.ts'))
const holder = new pg.Client({ connectionString: service.databases.superuser })
await holder.connect()
t.teardown(() => holder.end())
const owner = await service.signUp()
const departments = `/api/v1/tenants/${owner.tenantId}/departments/`

const columns = async () =>
  (
    await holder.query(
      "select column_name as name from information_schema.columns where table_name = 'departments' and column_name ~ 'probe'",
    )
  ).rows.map(({ name }) => name)

t.test(
  'after its time limit the migration ends, has changed nothing, and says what to look for',
  async (t) => {
    await holder.query('begin; select from departments limit 1')
    const { superuser } = service.databases
    await t.rejects(migrate(superuser, service.databases, { maxWaitMs: 100 }), {
      message:
        /^9998-first\.sql changed nothing, because it could not get a lock\. Long transactions: select /,
    })
    await holder.query('commit')
    t.same(await columns(), [])
  },
)

t.test(
  'while a long transaction locks a table, the service continues, and the migration succeeds in the end',
  async (t) => {
    const lines: string[] = []
    let over = false
    await holder.query('begin; select from departments limit 1')
    const migrating = migrate(service.databases.superuser, service.databases, {
      onWait: (line: string) => lines.push(line),
    }).finally(() => {
      over = true
    })
    const times: number[] = []
    const asking = async () => {
      for (let n = 0; !over; n++) {
        const begun = performance.now()
        const answers = [
          await owner.get(departments),
          await owner.post(departments, { name: `Department ${times.length}-${n}` }),
        ]
        times.push(performance.now() - begun)
        t.same(
          answers.map(({ status }) => status),
          [200, 201],
          JSON.stringify(answers[1]?.body),
        )
        await sleep(20)
      }
    }
    const asked = asking()
    await until(() => lines.length >= 3)
    await holder.query('commit')
    t.same(await migrating, ['9998-first.sql', '9999-second.sql'])
    await asked
    t.match(lines[0], /^9998-first\.sql waits for a lock that another transaction holds, and tries again\./)
    t.same((await columns()).sort(), ['first_probe', 'second_probe'])
    t.comment(`${times.length} rounds, the slowest took ${Math.round(Math.max(...times))} ms`)
  },
)

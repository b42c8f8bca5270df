import pg from 'pg'
import t from 'tap'
import { startService } from '../../helpers/service.ts'

t.test(
  'without a collector an event has the traceparent of the request, and its message has none',
  async (t) => {
    const service = await startService(t, { workers: false })
    const root = new pg.Client({ connectionString: service.databases.superuser })
    await root.connect()
    const owner = await service.signUp()
    const given = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const invalid = `00-${'0'.repeat(32)}-b7ad6b7169203331-01`
    for (const [name, traceparent] of Object.entries({ Sea: given, Land: invalid })) {
      const headers = { traceparent }
      const { status } = await owner.post(
        `/api/v1/tenants/${owner.tenantId}/departments/`,
        { name },
        { headers },
      )
      t.equal(status, 201)
    }
    const { rows } = await root.query(
      `select e.traceparent, o.payload from events e join outbox o using (tenant_id, id)
     where e.type = 'tenant.department_created' order by e.id`,
    )
    await root.end()
    t.strictSame(
      rows.map(({ traceparent }) => traceparent),
      [given, null],
    )
    for (const { payload } of rows) t.notOk('traceparent' in payload)
  },
)

import { randomUUID } from 'node:crypto'
import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t)
const owner = await service.signUp()
const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
const create = (headers: Record<string, string>) =>
  owner.post(departments, { name: randomUUID() }, { headers })
const refused = (meant: string) => ({
  status: 400,
  body: { code: 'unknown_header', errors: [{ code: 'unknown_header', meant }] },
})

t.test(
  'a misspelt header that the route reads is refused, with the nearest, and nothing is done',
  async (t) => {
    const before = (await owner.get(departments)).body.count
    for (const name of ['Idempotentcy-Key', 'X-Idempotency-Key', 'IdempotencyKey', 'Idempotency-Keys'])
      t.match(await create({ [name]: randomUUID() }), refused('Idempotency-Key'), name)
    t.match(
      (await create({ 'Idempotentcy-Key': 'a' })).body.detail,
      'There is no header "idempotentcy-key" here. Did you mean Idempotency-Key?',
    )
    t.equal((await owner.get(departments)).body.count, before)
    const one = `${departments}${(await create({})).body.id}/`
    for (const name of ['If-Mtach', 'IfMatch', 'X-If-Match'])
      t.match(
        await owner.patch(one, { name: 'N' }, { headers: { [name]: '"1"' } }),
        refused('If-Match'),
        name,
      )
    for (const name of ['Aproval-Request', 'Approval-Request-Id', 'X-Approval-Request'])
      t.match(
        await owner.patch(
          `/api/v1/tenants/${owner.tenantId}/`,
          { name: 'N' },
          { headers: { [name]: randomUUID() } },
        ),
        refused('Approval-Request'),
        name,
      )
  },
)

t.test(
  'headers of browsers, proxies and other services pass, and so do misspelt ones that the route does not read',
  async (t) => {
    const headers = Object.fromEntries(
      `If-None-Match If-Modified-Since If-Unmodified-Since If-Range Accept-Language Accept-Encoding Accept-Charset Origin-Agent
     X-Forwarded-For X-Forwarded-Proto X-Forwarded-Host X-Real-Ip X-Amzn-Trace-Id X-Request-Start X-Correlation-Id X-Api-Key
     X-Csrf-Token X-Requested-With X-Client-Id X-Envoy-External-Address X-Request-Id Cf-Ray Cf-Connecting-Ip Via Forwarded
     Traceparent Tracestate Baggage Sec-Fetch-Site Sec-Ch-Ua Priority Dnt Referer Cache-Control Pragma Idempotency-Replayed`
        .split(/\s+/)
        .map((name) => [name, 'x']),
    )
    const made = await create(headers)
    t.equal(made.status, 201)
    const one = `${departments}${made.body.id}/`
    t.equal((await owner.patch(one, { name: randomUUID() }, { headers })).status, 200)
    t.equal(
      (await owner.patch(one, { name: randomUUID() }, { headers: { 'X-Idempotency-Key': 'x' } })).status,
      200,
    )
    t.equal((await owner.get(one, { headers: { 'If-Mtach': '"1"' } })).status, 200)
    const both = { 'Idempotency-Key': randomUUID(), 'X-Idempotency-Key': 'x' }
    t.equal((await create(both)).status, 201, 'a proxy can add one beside ours')
  },
)

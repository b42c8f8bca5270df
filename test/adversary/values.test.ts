import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { foundFirm } from '../tenancy/staff.ts'

const service = await sharedService(t, { workers: false })

t.test('unusual keys and times cause no failure', async (t) => {
  const { owner, path } = await foundFirm(service)
  const { body } = await owner.get(`${path}/members/`)
  const member = `${path}/members/${body.results[0].id}/`
  for (const key of ['__proto__', 'constructor', 'prototype', 'toString', 'A']) {
    const answer = await owner.put(
      member,
      `{"attributes":{${JSON.stringify(key)}:{"polluted":true}}}` as never,
    )
    t.ok([200, 400].includes(answer.status), key)
    t.same((await owner.get(member)).body.attributes, {}, key)
  }
  t.equal(({} as { polluted?: boolean }).polluted, undefined)
  for (const at of [
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-23:59',
    '-000001-01-01T00:00:00Z',
    '2026-02-30T00:00:00Z',
  ])
    t.ok(
      [200, 400].includes(
        (await owner.get(`${path}/members/?created_at__gte=${encodeURIComponent(at)}`)).status,
      ),
      at,
    )
})

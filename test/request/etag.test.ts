import t from 'tap'
import { readIfMatch } from '../../src/request/answer/etag.ts'
import { sharedService } from '../helpers/shared-service.ts'

t.test('If-Match is read as RFC 9110 defines it', async (t) => {
  t.same(['', '*', ' * ', '"17"', '"1", "23"', '"1","2" , "3"'].map(readIfMatch), [
    null,
    null,
    null,
    [17],
    [1, 23],
    [1, 2, 3],
  ])
  for (const none of ['W/"17"', '"017"', '"x"', '""', '"1e3"', '"-1"']) t.same(readIfMatch(none), [], none)
  for (const malformed of ['17', '"1', '*, "1"', '"1" "2"', '"1",,x'])
    t.throws(() => readIfMatch(malformed), { status: 400, errors: [{ field: 'If-Match' }] }, malformed)
  t.same(readIfMatch('W/"1", "2"'), [2], 'a weak tag matches nothing')
})

t.test('a profile', async (t) => {
  const service = await sharedService(t, { workers: false })
  const ada = await service.signUp()
  const me = '/api/v1/users/me/'
  const tagOf = async (path = me) => (await ada.get(path)).headers.get('etag')!
  const change = (first_name: string, tag: string) =>
    ada.patch(me, { first_name }, { headers: { 'if-match': tag } })

  t.test('has a strong tag, the same until it changes', async (t) => {
    const tag = await tagOf()
    t.match(tag, /^"[^"]+"$/)
    t.equal(await tagOf(), tag)
    await ada.patch(me, { first_name: 'A' })
    const next = await tagOf()
    t.not(next, tag)
    await ada.patch(me, { first_name: 'B' })
    t.not(await tagOf(), next, 'although no millisecond has passed')
  })

  t.test('is changed only with the tag of its current state', async (t) => {
    const tag = await tagOf()
    t.equal((await change('Ada', tag)).status, 200)
    const stale = await change('Eve', tag)
    t.match(stale, { status: 412, body: { code: 'precondition_failed' } })
    t.match((await ada.get(me)).body, { first_name: 'Ada' })
    for (const other of [`W/${await tagOf()}`, '"nonsense"', '""'])
      t.equal((await change('Eve', other)).status, 412, other)
    t.equal((await change('Grace', `"0", ${await tagOf()}`)).status, 200, 'one of several')
    t.equal((await change('Ada', '*')).status, 200)
  })

  t.test('is refused for a stale tag even when the request changes nothing', async (t) => {
    t.equal((await change('Ada', '"0"')).status, 412)
    t.equal((await change('Ada', await tagOf())).status, 200)
  })

  t.test('is changed once when two requests with the same tag come at once', async (t) => {
    for (let round = 0; round < 5; round++) {
      const tag = await tagOf()
      const answers = await Promise.all(['x', 'y', 'z'].map((name) => change(name + round, tag)))
      t.same(answers.map(({ status }) => status).sort(), [200, 412, 412])
    }
  })

  t.test('keeps its tag through a login, which changes nothing in it', async (t) => {
    const tag = await tagOf()
    await service.logIn(ada)
    t.equal(await tagOf(), tag)
  })

  t.test('has the same tag under its id, and the tenant has a tag, too', async (t) => {
    t.equal(await tagOf(`/api/v1/users/${ada.id}/`), await tagOf())
    t.match(await tagOf(`/api/v1/tenants/${ada.tenantId}/`), /^"\d+"$/)
    const answer = await ada.put(
      `/api/v1/users/${ada.id}/`,
      { first_name: 'Q' },
      { headers: { 'if-match': '"0"' } },
    )
    t.equal(answer.status, 412)
  })

  t.test('every route that changes or deletes refuses a tag that no object has', async (t) => {
    const bodyOf = (path: string) => {
      if (path.includes('/passkeys/')) return { name: 'x' }
      if (path.endsWith('/resources/')) return { resources: [{ type: 'note', id: '1' }] }
      return path.includes('/resources/') ? { attributes: {} } : {}
    }
    const { paths } = (await service.call('GET', '/openapi.json')).body
    // biome-ignore lint/suspicious/noExplicitAny: the document as a client reads it
    for (const [path, item] of Object.entries<any>(paths)) {
      // It takes a file: branding.test.ts tries it.
      if (path.endsWith('/logo/')) continue
      for (const method of ['put', 'patch', 'delete'].filter((name) => item[name])) {
        const self = path.includes('/users/') ? ada.id : ada.tenantId
        const at = path
          .replace('{id}', self)
          .replace('{resource_type}', 'note')
          .replace(/\{\w+\}/g, self)
        const { status } = await service.call(method.toUpperCase(), at, {
          token: ada.access,
          headers: { 'if-match': '"nonsense"' },
          ...((method !== 'delete' || path.endsWith('/resources/')) && { body: bodyOf(path) }),
        })
        t.ok([412, 404].includes(status), `${method} ${path} answers ${status}`)
      }
    }
  })
})

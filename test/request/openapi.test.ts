import t from 'tap'
import { z } from 'zod'
import { invalidField } from '../../src/errors.ts'
import { listQuery } from '../../src/lists/list.ts'
import { pageOf } from '../../src/lists/lists.ts'
import { openapiDocument } from '../../src/pages/docs/openapi.ts'
import { type Route, route } from '../../src/request/route.ts'
import { leak } from '../helpers/answers.ts'

const member = z
  .object({ id: z.uuid(), email: z.email(), nickname: z.string().default('') })
  .meta({ id: 'Member', example: { id: '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b', email: 'a@example.com' } })
const change = z.object({ nickname: z.string().max(20).optional() })
const nothing = async () => undefined
const tag = 'Members'
const refuse = () => {
  throw invalidField('code', 'Give the code.')
}
const inside = { scope: 'inside', handle: nothing } as const
const members = '/api/v1/tenants/:id/members'

const routes: Route[] = [
  route({
    access: 'public',
    method: 'POST',
    path: '/api/v1/auth/login',
    tag: 'Signing in',
    summary: 'Log in',
    description: 'By address and password.',
    body: z.object({ email: z.email(), password: z.string() }),
    status: 200,
    answer: z.object({ access: z.jwt() }),
    refusals: [401, 429],
    secret: true,
    handle: nothing,
  }),
  route({
    ...inside,
    action: 'member:list',
    method: 'GET',
    path: members,
    tag,
    summary: 'List members',
    query: listQuery.extend({ status: z.enum(['active', 'suspended']).optional() }),
    status: 200,
    answer: pageOf(member),
  }),
  route({
    ...inside,
    action: 'member:list',
    method: 'GET',
    path: `${members}/:mid`,
    tag,
    summary: 'One member',
    status: 200,
    answer: member,
  }),
  route({
    ...inside,
    action: 'member:create',
    method: 'POST',
    path: members,
    tag,
    summary: 'Add a member',
    body: member,
    status: 201,
    answer: member,
    refusals: [409],
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      ...inside,
      action: 'member:update',
      method,
      path: `${members}/:mid`,
      tag,
      summary: 'Change a member',
      body: change,
      status: 200,
      answer: member,
      refusals: [412],
    }),
  ),
  route({
    ...inside,
    action: 'member:delete',
    method: 'DELETE',
    path: `${members}/:mid`,
    tag,
    summary: 'Remove a member',
    status: 204,
    answer: null,
  }),
  route({
    action: 'otp:verify',
    method: 'POST',
    path: '/api/v1/auth/otp/verify',
    tag: 'Signing in',
    summary: 'Show a second factor',
    body: z.object({ code: z.string().optional() }).transform(({ code }) => code ?? refuse()),
    status: 200,
    answer: z.object({ verified: z.literal(true) }),
    handle: nothing,
  }),
  route({
    access: 'public',
    method: 'GET',
    path: '/.well-known/jwks.json',
    tag: 'Operation',
    summary: 'Keys that verify tokens',
    status: 200,
    answer: z.object({ keys: z.array(z.looseObject({ kty: z.string() })) }),
    handle: nothing,
  }),
]

const info = { publicUrl: 'https://id.example.com', version: '1.2.3' }
// biome-ignore lint/suspicious/noExplicitAny: as a client reads it from JSON
const document: any = JSON.parse(JSON.stringify(openapiDocument(routes, info)))
const entry = `${members.replace(':id', '{id}')}/{mid}/`
const list = `${members.replace(':id', '{id}')}/`

t.test('the document has every route once, and nothing else', async (t) => {
  const documented = Object.entries<Record<string, object>>(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const registered = routes.map(
    ({ method, path }) =>
      `${method} ${path.replace(/:(\w+)/g, '{$1}')}${path.startsWith('/api/') ? '/' : ''}`,
  )
  t.same(documented.sort(), registered.sort())
})

t.test('every reference has a target', async (t) => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, at]) => at!)
  t.ok(references.length > 0)
  for (const at of new Set(references)) {
    const steps = at.split('/').slice(1)
    t.ok(
      steps.reduce((node, step) => node?.[step], document),
      at,
    )
  }
})

t.test('operation ids say what the operation does, and do not depend on other operations', async (t) => {
  const nameOf = (each: Route) =>
    Object.values(Object.values(openapiDocument([each], info).paths ?? {})[0] ?? {})[0].operationId
  const names = routes.map(nameOf)
  t.same(names, [
    'auth_login',
    'member_list',
    'member_read',
    'member_create',
    'member_update',
    'member_update_partial',
    'member_delete',
    'otp_verify',
    'well_known_jwks_json',
  ])
  t.equal(document.paths[entry].patch.operationId, 'member_update_partial')
})

t.test('two operations with the same id stop the build of the document', async (t) => {
  const [login] = routes
  t.throws(() => openapiDocument([login!, login!], info), /auth_login/)
})

t.test('a decided route names its action and requires a token; a public one requires none', async (t) => {
  t.same(document.security, [{ bearerAuth: [] }])
  t.equal(document.components.securitySchemes.bearerAuth.scheme, 'bearer')
  t.equal(document.paths[list].post['x-action'], 'member:create')
  t.notOk('security' in document.paths[list].post)
  t.same(document.paths['/api/v1/auth/login/'].post.security, [])
})

t.test('a route that accepts the temporary token documents it', async (t) => {
  t.match(document.paths['/api/v1/auth/otp/verify/'].post.description, 'temporary_token')
  t.notOk('description' in document.paths[list].get)
})

t.test('a route documents the errors of its form and those it lists', async (t) => {
  const statuses = (path: string, method: string) => Object.keys(document.paths[path][method].responses)
  t.same(statuses('/.well-known/jwks.json', 'get'), ['200', '500', '503'])
  t.same(statuses(list, 'get'), ['200', '400', '401', '403', '404', '414', '429', '500', '503'])
  t.same(statuses(list, 'post'), [
    ...['201', '400', '401', '403', '404', '409', '413', '414', '415', '429', '500', '503'],
  ])
  // Found by Schemathesis: an Approval-Request that is no id is 400, an address of 9 KB 414.
  t.same(statuses(entry, 'delete'), ['204', '400', '401', '403', '404', '414', '429', '500', '503'])
  t.same(statuses('/api/v1/auth/login/', 'post'), [
    ...['200', '400', '401', '413', '415', '429', '500', '503'],
  ])
})

t.test('an error status without a description stops the build of the document', async (t) => {
  t.throws(() => openapiDocument([{ ...routes[0]!, refusals: [418] }], info), /418/)
})

t.test('errors are shared components, and are problems of RFC 9457', async (t) => {
  const { $ref } = document.paths[list].post.responses['400']
  t.equal($ref, '#/components/responses/BadRequest')
  const shown = document.components.responses.BadRequest.content['application/problem+json']
  t.same(shown.schema, { $ref: '#/components/schemas/Problem' })
  t.match(shown.example, { status: 400, code: 'validation_error', errors: [{ field: 'email' }] })
  t.ok(document.components.responses.TooManyRequests.headers['Retry-After'])
})

t.test('a body is required only when an empty one is not valid', async (t) => {
  t.equal(document.paths[list].post.requestBody.required, true)
  t.equal(document.paths['/api/v1/auth/otp/verify/'].post.requestBody.required, true)
  t.equal(document.paths[entry].put.requestBody.required, false)
  t.notOk('requestBody' in document.paths[entry].delete)
})

t.test('the example of an error has its status and a code', async (t) => {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  for (const [status, each] of Object.entries<any>(document.paths[list].post.responses)) {
    if (!each.$ref) continue
    const { example } =
      document.components.responses[each.$ref.split('/').at(-1)].content['application/problem+json']
    t.equal(example.status, Number(status))
    t.equal(example.type, `urn:bailiwick:error:${example.code}`)
  }
})

t.test('ids in paths are UUIDs, and the page size is a number', async (t) => {
  const [id, mid] = document.paths[entry].get.parameters
  t.strictSame(id, { in: 'path', name: 'id', schema: { type: 'string', format: 'uuid' }, required: true })
  t.equal(mid.name, 'mid')
  const size = document.paths[list].get.parameters.find((each: { name: string }) => each.name === 'page_size')
  t.match(size.schema, { type: 'integer', minimum: 1, default: 20 })
  t.notOk('pattern' in size.schema)
  t.notOk(size.required)
  t.equal(document.paths[list].get.parameters[0].name, 'id', 'path parameters come first')
})

t.test('schemas of answers allow more members, and keep their examples', async (t) => {
  t.notMatch(JSON.stringify(document.components.schemas), '"additionalProperties":false')
  t.same(document.components.schemas.MemberOutput.required, ['id', 'email', 'nickname'])
  t.same(document.components.schemas.Member.required, ['id', 'email'])
  t.equal(document.components.schemas.Member.example.email, 'a@example.com')
})

t.test('the document has its address, its version, and its tags in the order of the routes', async (t) => {
  t.equal(document.openapi, '3.1.0')
  t.equal(document.info.version, '1.2.3')
  t.same(document.servers, [{ url: 'https://id.example.com' }])
  t.same(
    document.tags.map(({ name }: { name: string }) => name),
    ['Signing in', 'Members', 'Operation'],
  )
})

t.test('an answer with a secret is documented as no-store', async (t) => {
  const { headers } = document.paths['/api/v1/auth/login/'].post.responses['200']
  t.equal(headers['Cache-Control'].schema.const, 'no-store')
})

t.test('the judge of answers sees the name of a constraint, and takes no random token for one', async (t) => {
  for (const text of ['"users_email_key"', 'of public.api_keys_pkey.', '(roles_name_idx)', 'SELECT a FROM b'])
    t.match(text, leak)
  for (const text of ['"qX3_IDx"', '"Zm9v-bar_idx"', '"eyJh.b_Key"', '"api_key:create"'])
    t.notMatch(text, leak)
})

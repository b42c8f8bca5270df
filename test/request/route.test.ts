import t from 'tap'
import { type ZodObject, z } from 'zod'
import { assertDecided } from '../../src/request/registry.ts'
import { type AnyInput, route } from '../../src/request/route.ts'

const common = {
  method: 'POST',
  path: '/api/v1/roles',
  tag: 'Roles',
  summary: 'Create a role',
  body: z.object({ name: z.string() }),
  status: 200,
  answer: z.object({ name: z.string() }),
} as const
const action = 'role:create'
const role = { name: 'a' }
const asRole = () => ({ type: 'role' })

t.test('the functions of a route say when it is decided', async (t) => {
  const load = async () => role
  t.match(route({ ...common, action, handle: () => role }), { kind: 'handle', access: 'token' })
  t.match(route({ ...common, action, load, handle: (_input, { name }) => ({ name }) }), { kind: 'handle' })
  t.match(route({ ...common, action, load, resource: asRole, handle: () => role }), { kind: 'resource' })
  t.match(route({ ...common, action, act: async (_tx, { body }) => body }), { kind: 'change' })
  t.match(
    route({ ...common, action, load, resource: asRole, act: async (_tx, _input, { name }) => ({ name }) }),
    {
      kind: 'change',
    },
  )
  t.match(
    route({
      ...common,
      action,
      maxBody: 1,
      items: load,
      changeAll: async (_tx, _input, { name }) => ({ name }),
    }),
    {
      kind: 'bulk',
    },
  )
})

/** Whether the compiler takes a description as a route. */
type Taken<Spec> = Spec extends Parameters<
  typeof route<typeof common.body, ZodObject, typeof common.answer, unknown, unknown>
>[0]
  ? true
  : false
const taken =
  <const Spec>(_spec: Spec) =>
  (is: Taken<Spec>): boolean =>
    is

t.test('a route names its action, or that it is public', async (t) => {
  const handle = async () => role
  const act = async () => role
  const load = async () => role
  t.match(route({ ...common, access: 'public', handle }), { access: 'public', action: 'public' })
  t.match(route({ ...common, access: 'optional', action, handle }), { access: 'optional', action })
  t.ok(taken({ ...common, action, handle })(true))
  t.ok(taken({ ...common, action, act })(true))
  t.ok(taken({ ...common, access: 'public', handle })(true))
  t.notOk(taken({ ...common, handle })(false), 'no action')
  t.notOk(taken({ ...common, act })(false), 'no action')
  t.notOk(taken({ ...common, access: 'optional', handle })(false), 'no action')
  t.notOk(taken({ ...common, action: 'role:invent', handle })(false), 'an action that the catalogue lacks')
  t.notOk(taken({ ...common, access: 'public', action, handle })(false), 'an action, but public')
  t.notOk(taken({ ...common, access: 'public', act })(false), 'a public change')
  t.notOk(taken({ ...common, access: 'public', load, handle })(false), 'a load of no tenant')
  t.notOk(taken({ ...common, action, handle, act })(false), 'two forms')
  t.notOk(taken({ ...common, action, resource: asRole, handle })(false), 'a resource that is not loaded')
  t.notOk(taken({ ...common, action, readAction: 'role:list', act })(false), 'a change that shows')
})

t.test('a route that can be called without a token knows that there may be no caller', async (t) => {
  const isNull = (_caller: null) => role
  route({ ...common, access: 'public', handle: async ({ caller }) => isNull(caller) })
  const canBeNull = <C>(_caller: C, is: null extends C ? true : false) => t.ok(is)
  const open = route({
    ...common,
    access: 'optional',
    action,
    handle: async ({ caller }) => {
      canBeNull(caller, true)
      return role
    },
  })
  if (open.kind === 'handle') await open.handle({ caller: null } as AnyInput, undefined)
})

t.test('a route without an action, written past the compiler, is refused at start', async (t) => {
  const none = route({ ...common, handle: () => role } as unknown as Parameters<typeof route>[0])
  t.throws(() => assertDecided([none]), /not in the catalogue/)
})

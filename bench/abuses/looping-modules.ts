import { resolveOpa } from '../../src/policy-engine/opa/opa.ts'
import type { Abuse } from './abuse.ts'
import { bearer, insist, signUp } from './people.ts'

const tenants = 20
const modulesOfTenant = 20
const loop = [...'abcde'].map((name) => `\tsome ${name} in input.resource.list`).join('\n')
const moduleOf = (n: number) =>
  `package policy\n\ndeny contains "x" if {\n${loop}\n\ta + b + c + d + e == -${n + 1}\n}\n`
const list = Array.from({ length: 100 }, (_, n) => n)
const action = (n: number) => ({ name: `ship:verb${n % modulesOfTenant}` })
const about = (id: string) => ({
  subject: { type: 'user', id },
  resource: { type: 'ship', id: '1', properties: { list } },
})

/** Gives the tenant its looping modules, each for an action of its own, and the token of the person in it. */
async function furnish(url: string, access: string): Promise<void> {
  const definition = { category: 'resource', key: 'list', data_type: 'array', display_name: 'List' }
  await insist(access, `${url}/api/v1/attribute-definitions/`, definition)
  for (let n = 0; n < modulesOfTenant; n++) {
    const policy = { name: `Loop ${n}`, kind: 'rego', effect: 'deny', actions: [action(n).name] }
    await insist(access, `${url}/api/v1/policies/`, { ...policy, module: moduleOf(n) })
  }
}

/** One person asks about all looping modules of all tenants that a person can have, alone and in batches. */
export const loopingModules: Abuse = {
  name: 'modules',
  about: `One person in ${tenants} tenants with ${modulesOfTenant} modules each that never end: 20 batches of 500 questions a second, and 20 questions`,
  settings: async () => ({ OPA_PATH: await resolveOpa({ print: console.error }) }),
  async setUp(url) {
    const person = await signUp(url, 'looper')
    const enter = async (tenant_id: string) =>
      (await insist(person.access, `${url}/api/v1/auth/switch-tenant/`, { tenant_id })).access!
    const ids: string[] = []
    for (let n = 0; n < tenants; n++)
      ids.push((await insist(person.access, `${url}/api/v1/tenants/`, { name: `Tenant ${n}` })).id!)
    for (const id of ids) await furnish(url, await enter(id))
    // Tokens are valid for 15 minutes, and compiling takes some.
    const tokens = await Promise.all(ids.map(enter))
    const evaluations = Array.from({ length: 500 }, (_, n) => ({ action: action(n) }))
    const batch = JSON.stringify({ ...about(person.id), evaluations })
    const single = (n: number) => JSON.stringify({ ...about(person.id), action: action(n) })
    const post = { method: 'POST', rate: tokens.length } as const
    return [
      {
        ...post,
        path: '/access/v1/evaluations',
        accounts: tokens.map((access) => ({ headers: bearer(access), body: batch })),
      },
      {
        ...post,
        path: '/access/v1/evaluation',
        accounts: tokens.map((access, n) => ({ headers: bearer(access), body: single(n) })),
      },
    ]
  },
}

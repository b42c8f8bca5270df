import { postAs } from '../stage.ts'
import type { Abuse } from './abuse.ts'
import { bearer, signUp } from './people.ts'

const policies = 490
const groups = 10
const values = Array.from({ length: 180 }, (_, n) => `value-${1_000_000 + n}`)
const types = (from: number) => Array.from({ length: 12 }, (_, n) => `type-${from + n}`)

/** 4 KiB once it is compiled. A group of policies is about the same actions. */
const policyOf = (n: number) => ({
  name: `Policy ${n}`,
  effect: 'deny',
  actions: Array.from({ length: 8 }, (_, verb) => `group${n % groups}:verb${verb}`),
  resource_types: types((n % groups) * 12),
  conditions: { attribute: 'subject.id', operator: 'in', value: values },
})

/** Is measured with all others. */
const broad = {
  name: 'Broad',
  effect: 'deny',
  actions: ['*'],
  conditions: { attribute: 'subject.id', operator: 'eq', value: 'x' },
}

async function furnish(url: string) {
  const person = await signUp(url, 'author')
  const made: { id?: string }[] = []
  for (let n = 0; n < policies; n++)
    made.push(await postAs(person.access, `${url}/api/v1/policies/`, policyOf(n)))
  const { id } = await postAs(person.access, `${url}/api/v1/policies/`, broad)
  if (!id) throw new Error('The policies could not be made')
  return { id, headers: bearer(person.access) }
}

const post = { method: 'POST', rate: 4 } as const

/** One person tests a policy in a tenant whose policies are as large as they can be. */
export const policyTests: Abuse = {
  name: 'tests',
  about: `One person in a tenant with ${policies} policies of 4 KiB: 4 tests of a policy a second`,
  async setUp(url) {
    const { id, headers } = await furnish(url)
    return [{ ...post, path: `/api/v1/policies/${id}/test`, accounts: [{ headers, body: '{}' }] }]
  },
}

/** The same with writes, drafts and previews. */
export const policyWrites: Abuse = {
  name: 'writes',
  about: `The same person: 4 writes of that policy a second, 4 tests and 4 previews of drafts`,
  async setUp(url) {
    const { id, headers } = await furnish(url)
    const draft = JSON.stringify({ draft: broad })
    return [
      { ...post, path: `/api/v1/policies/${id}/rollback`, accounts: [{ headers, body: '{"version":1}' }] },
      { ...post, path: '/api/v1/policies/test-draft', accounts: [{ headers, body: draft }] },
      { ...post, path: '/api/v1/policies/preview-draft', accounts: [{ headers, body: draft }] },
    ]
  },
}

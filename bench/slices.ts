import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { slicePolicies } from '../src/authorization/policies/slice-policies.ts'
import { compilePolicy } from '../src/policy-engine/compile/compile-policy.ts'
import { openAccessEngine } from '../src/policy-engine/evaluate/engine.ts'
import { roleQuery } from '../src/policy-engine/opa/role-table.ts'

// Measures policies that name many people: eight of 14.7 KB, each with 180 people and a list of 190 items. Prints the
// size of their slice, the time of the first decisions with it, and the heap that 200 queries about types that no policy
// names leave behind.

const engine = await openAccessEngine()
setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const ids = (count: number) => Array.from({ length: count }, () => randomUUID())

function policy(index: number) {
  const source = {
    effect: 'deny' as const,
    resource_types: [],
    actions: ['*'],
    valid_from: null,
    valid_until: null,
    subjects: { users: ids(180) },
    conditions: { attribute: 'subject.id', operator: 'in', value: ids(190) },
    approval: null,
    obligations: [],
  }
  const attributes = new Map([['subject.id', { type: 'string' as const }]])
  const result = compilePolicy(source, { attributes, role: (name) => name })
  if ('faults' in result) throw new Error(JSON.stringify(result.faults))
  const { policy: compiled } = result
  const bytes = JSON.stringify(compiled).length
  const id = `policy-${index}`
  return { id, version: 1, name: id, priority: 0, compiled, bytes, mode: 'enforce' as const, ...always }
}
const always = { valid_from: null, valid_until: null }

const policies = slicePolicies({
  tenantId: 'tenant',
  revision: 1,
  policies: Array.from({ length: 8 }, (_none, index) => policy(index)),
  departments: new Map(),
  callerKeys: new Set(),
})
const asked = roleQuery('tenant:read', ['member'], 'me')
const decide = (type: string) => {
  const started = performance.now()
  engine.decide({ ...asked, slice: policies.slice(type, asked.action, Date.now()) })
  return performance.now() - started
}
const heap = () => {
  collectGarbage()
  return process.memoryUsage().heapUsed / 1024 / 1024
}

const first = Array.from({ length: 3 }, () => decide('tenant').toFixed(2))
const before = heap()
const times = Array.from({ length: 200 }, (_none, index) => decide(`type-${index}`)).sort((a, b) => a - b)
console.log(`slice      ${policies.slice('tenant', asked.action, Date.now()).bytes} bytes`)
console.log(`decisions  ${first.join(', ')} ms at first, then p50 ${times[100]!.toFixed(3)} ms`)
console.log(`heap       ${(heap() - before).toFixed(2)} MB more after 200 queries about new types`)

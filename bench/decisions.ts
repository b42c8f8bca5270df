import { compilePolicy } from '../src/policy-engine/compile/compile-policy.ts'
import type { SlicePolicy } from '../src/policy-engine/compile/compiled-policy.ts'
import type { DataType } from '../src/policy-engine/compile/conditions.ts'
import { buildSlice } from '../src/policy-engine/compile/slice.ts'
import { openAccessEngine } from '../src/policy-engine/evaluate/engine.ts'
import type { DecisionQuery } from '../src/policy-engine/evaluate/query.ts'
import { roleQuery } from '../src/policy-toolchain/role-table.ts'

// Measures one decision, from the query to the parsed answer, by the number of policies in the slice. Each policy has
// five comparisons. A tenth of the policies apply to the subject, and half of their comparisons are true.

const engine = await openAccessEngine()
const types: Record<string, DataType> = {
  'subject.department_id': 'string',
  'subject.clearance': 'integer',
  'subject.email_verified': 'boolean',
  'environment.hour': 'integer',
  'environment.ip': 'ip',
}
const attributes = new Map(Object.entries(types).map(([name, type]) => [name, { type }]))

const leaves = (index: number) => [
  { attribute: 'subject.department_id', operator: 'eq', value: `department-${index % 2}` },
  { attribute: 'subject.clearance', operator: 'gte', value: index % 5 },
  { attribute: 'subject.email_verified', operator: 'eq', value: true },
  { attribute: 'environment.hour', operator: 'between', value: [6, 22] },
  { attribute: 'environment.ip', operator: 'in_cidr', value: ['10.0.0.0/8', '192.0.2.0/24'] },
]

function policy(index: number): SlicePolicy {
  const source = {
    effect: 'deny' as const,
    resource_types: [],
    actions: ['tenant:read'],
    valid_from: null,
    valid_until: null,
    subjects: { roles: [index % 10 === 0 ? 'member' : `role-${index}`] },
    conditions: {
      all: [...leaves(index), { attribute: 'subject.clearance', operator: 'gt', value: 9 }].slice(-5),
    },
    approval: null,
    obligations: [],
  }
  const result = compilePolicy(source, { attributes, role: (name) => name })
  if ('faults' in result) throw new Error(JSON.stringify(result.faults))
  return { id: `policy-${index}`, version: 1, name: `Policy ${index}`, priority: 0, compiled: result.policy }
}

function query(policies: number): DecisionQuery {
  const asked = roleQuery('tenant:read', ['member'], 'me')
  const slice = buildSlice(
    'tenant',
    1,
    Array.from({ length: policies }, (_none, index) => policy(index)),
  )
  const membership = {
    ...asked.subject.membership!,
    attributes: { clearance: 3 },
    departmentId: 'department-0',
  }
  return {
    ...asked,
    subject: { ...asked.subject, membership },
    environment: { ip: '10.1.2.3', userAgent: null },
    slice,
  }
}

const rounds = 30_000

function measured(asked: DecisionQuery): number[] {
  for (let time = 0; time < rounds / 3; time++) engine.decide(asked)
  const times = Array.from({ length: rounds }, () => {
    const started = process.hrtime.bigint()
    engine.decide(asked)
    return Number(process.hrtime.bigint() - started) / 1000
  })
  return times.sort((one, other) => one - other)
}

console.log('policies  slice KB  p50 µs  p99 µs    min µs')
for (const policies of [0, 10, 100, 500]) {
  const asked = query(policies)
  const times = measured(asked)
  const at = (share: number) => times[Math.floor(rounds * share)]!.toFixed(1).padStart(6)
  const size = (asked.slice.text.length / 1024).toFixed(1).padStart(8)
  console.log(`${String(policies).padStart(8)}  ${size}  ${at(0.5)}  ${at(0.99)}  ${at(0)}`)
}

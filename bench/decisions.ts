import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { compilePolicy } from '../src/policy-engine/compile/compile-policy.ts'
import type { SlicePolicy } from '../src/policy-engine/compile/compiled-policy.ts'
import type { DataType } from '../src/policy-engine/compile/conditions.ts'
import { buildSlice, emptySlice } from '../src/policy-engine/compile/slice.ts'
import { bundleName, policiesFolder, readBundle } from '../src/policy-engine/evaluate/bundle.ts'
import { readDecision } from '../src/policy-engine/evaluate/decision.ts'
import { openAccessEngine } from '../src/policy-engine/evaluate/engine.ts'
import {
  inputText,
  instantiatorOf,
  type PolicyInstance,
} from '../src/policy-engine/evaluate/policy-instance.ts'
import { type DecisionQuery, policyInput } from '../src/policy-engine/evaluate/query.ts'
import { roleQuery } from '../src/policy-engine/opa/role-table.ts'
import { percentile } from './percentile.ts'

// Measures decisions in the process, from the query to the parsed answer, by the policies of the slice and by the number
// of tenants. Each policy has five comparisons, and the cheapest one does not decide.

/** Times in µs; `input` writes the input, `module` evaluates and parses the answer, `answer` checks it. */
export interface DecisionFigures {
  p50: number
  p99: number
  input: number
  module: number
  answer: number
  /** more memory of the process after the first decisions of all tenants, in MB */
  memory: number
}

const types: Record<string, DataType> = {
  'subject.department_id': 'string',
  'subject.clearance': 'integer',
  'subject.email_verified': 'boolean',
  'environment.hour': 'integer',
  'environment.ip': 'ip',
}
const attributes = new Map(Object.entries(types).map(([name, type]) => [name, { type }]))

const leaves = (index: number) => [
  { attribute: 'subject.clearance', operator: 'gte', value: index % 5 },
  { attribute: 'subject.email_verified', operator: 'eq', value: true },
  { attribute: 'environment.hour', operator: 'between', value: [6, 22] },
  { attribute: 'environment.ip', operator: 'in_cidr', value: ['10.0.0.0/8', '192.0.2.0/24'] },
  { attribute: 'subject.clearance', operator: 'gt', value: 9 },
]

function policy(index: number, role: string): SlicePolicy {
  const source = {
    effect: 'deny' as const,
    resource_types: [],
    actions: ['tenant:read'],
    valid_from: null,
    valid_until: null,
    subjects: { roles: [role] },
    conditions: { all: leaves(index) },
    approval: null,
    obligations: [],
  }
  const result = compilePolicy(source, { attributes, role: (name) => name })
  if ('faults' in result) throw new Error(JSON.stringify(result.faults))
  return { id: `policy-${index}`, version: 1, name: `Policy ${index}`, priority: 0, compiled: result.policy }
}

/** A member asks. Of the policies about the action `relevant` are about the member, the others about other roles. */
function query(tenant: string, relevant: number, others: number): DecisionQuery {
  const asked = roleQuery('tenant:read', ['member'], 'me')
  const policies = Array.from({ length: relevant + others }, (_none, index) =>
    policy(index, index < relevant ? 'member' : `role-${index}`),
  )
  const membership = {
    ...asked.subject.membership!,
    attributes: { clearance: 3 },
    departmentId: 'department-0',
  }
  return {
    ...asked,
    requestId: '018f0000-0000-7000-8000-000000000001',
    subject: { ...asked.subject, tenantId: tenant, membership },
    tenant: { ...asked.tenant!, id: tenant },
    resource: { ...asked.resource, tenantId: tenant },
    environment: { ip: '10.1.2.3', userAgent: null },
    slice: policies.length === 0 ? emptySlice(tenant, 1) : buildSlice(tenant, 1, policies),
  }
}

/** Queries that are asked in turn; `ready` completes one as a request does. */
interface Shape {
  name: string
  queries: DecisionQuery[]
  ready(query: DecisionQuery): DecisionQuery
}

const policies = (relevant: number, others = 0): Shape => ({
  name: `${relevant} policies about the member${others ? `, ${others} about others` : ''}`,
  queries: [query('tenant', relevant, others)],
  ready: (asked) => asked,
})

// The tenants come in scattered order, so that the caches of the processor do not help.
const tenants = (count: number): Shape => ({
  name: `no policies, ${count} ${count === 1 ? 'tenant' : 'tenants'}`,
  queries: Array.from({ length: count }, (_none, index) => query(`tenant-${(index * 7919) % count}`, 0, 0)),
  ready: (asked) => ({ ...asked, slice: emptySlice(asked.subject.tenantId, 1) }),
})

// 100 and 500 policies of a tenant, of which a tenth are about the action; 500 about it, of which a tenth are about the
// member.
const shapes = [
  () => policies(0),
  () => policies(10),
  () => policies(50),
  () => policies(50, 450),
  () => tenants(100),
  () => tenants(10_000),
  () => tenants(100_000),
]

const warmUp = 20_000
const perRound = 5_000
setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const memory = () => {
  collectGarbage()
  return process.memoryUsage().rss / 1024 / 1024
}

type Times = Omit<DecisionFigures, 'memory'>

/** Measures every shape in each round, so that a busy moment affects all. Figures are medians of the rounds. */
export async function measureDecisions(rounds: number): Promise<Record<string, DecisionFigures>> {
  const engine = await openAccessEngine()
  const instance = instantiatorOf(readBundle(`${policiesFolder}${bundleName}`))()
  const measured = shapes.map((shape) => {
    const { name, queries, ready } = shape()
    let asked = 0
    const next = () => queries[asked++ % queries.length]!
    const before = memory()
    for (let time = 0; time < Math.max(queries.length, warmUp); time++) engine.decide(ready(next()))
    return { name, next, ready, memory: memory() - before, rounds: [] as Times[] }
  })
  for (let round = 0; round < rounds; round++)
    for (const { next, ready, rounds } of measured)
      rounds.push({
        ...wholeDecisions(() => engine.decide(ready(next()))),
        ...partsOf(instance, ready(next())),
      })
  return Object.fromEntries(
    measured.map(({ name, rounds, memory }) => [name, { ...medians(rounds), memory: rounded(memory) }]),
  )
}

function wholeDecisions(decide: () => unknown): Pick<Times, 'p50' | 'p99'> {
  const times = Array.from({ length: perRound }, () => timed(decide))
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
}

/** Each part of a decision alone, in an instance of its own that has parsed the slice. */
function partsOf(instance: PolicyInstance, asked: DecisionQuery): Pick<Times, 'input' | 'module' | 'answer'> {
  const text = inputText(policyInput(asked))
  const evaluate = () => instance.evaluate('authz/decision', text, asked.slice)
  const answer = evaluate()
  const median = (part: () => unknown) =>
    percentile(
      Array.from({ length: 1_000 }, () => timed(part)),
      0.5,
    )
  return {
    input: median(() => inputText(policyInput(asked))),
    module: median(evaluate),
    answer: median(() => readDecision(answer, asked)),
  }
}

function timed(work: () => unknown): number {
  const started = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - started) / 1000
}

function medians(rounds: Times[]): Times {
  const keys = Object.keys(rounds[0]!) as (keyof Times)[]
  const figures = keys.map((key) => [
    key,
    rounded(
      percentile(
        rounds.map((round) => round[key]),
        0.5,
      ),
    ),
  ])
  return Object.fromEntries(figures) as Times
}

const rounded = (value: number) => Number(value.toFixed(value < 10 ? 2 : 1))

import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setEnvironmentData } from 'node:worker_threads'
import t from 'tap'
import { readBundle } from '../../src/policy-engine/evaluate/bundle.ts'
import { compileModule } from '../../src/policy-engine/opa/compile-module.ts'
import { pathOf, resolveOpa, run } from '../../src/policy-engine/opa/opa.ts'
import { createModulePauses } from '../../src/policy-engine/sandbox/module-pauses.ts'
import { createModulePool, type EndedTask, endedTasks } from '../../src/policy-engine/sandbox/module-pool.ts'
import { cpuMsOf, threadIdOf } from '../../src/policy-engine/sandbox/thread-cpu.ts'
import { endLimiter } from '../../src/policy-engine/sandbox/thread-ends.ts'
import { maxInputBytes } from '../../src/policy-engine/sandbox/thread-exchange.ts'

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print })
  .then(pathOf)
  .catch((error: Error) => error)
const skip = opa instanceof Error && opa.message
const place = t.testdir()
const pool = createModulePool({ isInForce: true, threads: 3 })
t.teardown(() => pool.close())
await pool.warm()

let built = 0

/** A module as `opa` builds it, without the checks of the service: it can hold what those refuse. */
async function unchecked(
  body: string,
  head = 'package policy',
): Promise<{ key: string; wasm: Uint8Array<ArrayBuffer> }> {
  const key = `m${built++}`
  const [source, bundle] = [join(place, `${key}.rego`), join(place, `${key}.tar.gz`)]
  writeFileSync(source, `${head}\n\ndeny contains finding if {\n${body}\n}\n`)
  const { code, stdout } = await run(String(opa), [
    'build',
    '-t',
    'wasm',
    '-e',
    'policy/deny',
    '-o',
    bundle,
    source,
  ])
  t.equal(code, 0, stdout)
  const { wasm } = readBundle(bundle, key)
  rmSync(bundle)
  return { key, wasm }
}

type Built = Awaited<ReturnType<typeof unchecked>>

/** Evaluates at once, for a subject of a tenant. */
function evaluate(subject: string, { key, wasm }: Built, input: string, asked = pool, tenantId = subject) {
  const task = { tenantId, subject, key, wasm, policyId: key, version: 1 }
  return asked.evaluate(task, input, { cpuMs: 5, until: performance.now() + 10 })
}

/** Evaluates. A thread that is not ready, or gets no CPU on a busy machine, is no answer: then it asks again. */
async function ask(subject: string, module: Built, input: object, asked = pool) {
  for (let tries = 0; ; tries++) {
    await asked.warm([module.wasm])
    const { usedMs: _time, ...outcome } = {
      usedMs: 0,
      ...evaluate(subject, module, JSON.stringify(input), asked),
    }
    const isAnswer = !('why' in outcome) || !['not_ready', 'no_cpu'].includes(outcome.why)
    if (isAnswer || tries === 50) return outcome
    await sleep(20)
  }
}
const list = Array.from({ length: 128 }, (_each, index) => index)
const question = { resource: { list, text: 'é'.repeat(1000) }, subject: { id: 'me' } }

t.test(
  'a module reaches its input and nothing else, also if no check had looked at it',
  { skip },
  async (t) => {
    const policies = await unchecked('some finding, _ in data.slice.policies')
    t.same(await ask('one', policies, question), { findings: [] }, 'there are no policies')
    const bundle = await unchecked('finding := concat(",", [name | some name, _ in data.catalogue.actions])')
    t.same(await ask('one', bundle, question), { findings: [''] }, 'nor the actions of the bundle')
    const secret = await unchecked('finding := _secret', 'package policy\n\n_secret := "of tenant one"')
    t.same(await ask('one', secret, question), { findings: ['of tenant one'] })
    const thief = await unchecked('finding := data.policy._secret')
    t.same(await ask('two', thief, question), { findings: [] }, 'not another module of the same package')
    const kept = await unchecked('finding := input.resource.id')
    t.same(await ask('one', kept, { resource: { id: 'of one' } }), { findings: ['of one'] })
    t.same(await ask('two', kept, { resource: {} }), { findings: [] }, 'not the input before')
    const host = await unchecked('finding := opa.runtime().env.HOME')
    t.match(await ask('one', host, question), { fault: 'failed', why: /not implemented/ }, 'not the host')
  },
)

t.test(
  'what takes too much time or memory is killed, and the next question is answered',
  { skip },
  async (t) => {
    const fine = await unchecked('finding := input.subject.id')
    const loop = [...'abcde'].map((name) => `\tsome ${name} in input.resource.list`).join('\n')
    const bombs = {
      loop: await unchecked(`${loop}\n\ta + b + c + d + e == -1\n\tfinding := "x"`),
      memory: await unchecked(
        `\tx := [[a, b, c, d, e] | ${loop.trim().replaceAll('\n\t', '; ')}]\n\tfinding := count(x)`,
      ),
      text: await unchecked(
        `${loop}\n\tx := concat("", [input.resource.text | some f in input.resource.list])\n\tfinding := x`,
      ),
      pattern: await unchecked('\tregex.match(`(?i)\\pL{300}`, input.resource.text)\n\tfinding := "x"'),
      range: await unchecked('\tsome x in numbers.range(1, 1000000000)\n\tx == -1\n\tfinding := "x"'),
    }
    for (const [name, bomb] of Object.entries(bombs)) {
      t.match(await ask(name, bomb, question), { fault: 'late' }, name)
      t.same(await ask('other', fine, question), { findings: ['me'] }, `others go on after ${name}`)
    }
    const long = await unchecked(
      'finding := concat("", [input.resource.text | some _ in input.resource.list])',
    )
    t.match(await ask('long', long, question), { fault: String }, 'findings have a length')
    const many = await unchecked(
      'some x in input.resource.list\n\tfinding := concat(" ", ["n", format_int(x, 10)])',
    )
    t.match(await ask('many', many, question), { findings: { length: 10 } }, 'and a number')
    const conflict = await unchecked(
      'finding := _two',
      'package policy\n\n_two := x if some x in input.resource.list',
    )
    t.match(await ask('conflict', conflict, question), { fault: 'failed' })
    t.match(evaluate('big', fine, `"${'x'.repeat(maxInputBytes)}"`), { fault: 'failed' })
    t.same(await ask('other', fine, question), { findings: ['me'] })
  },
)

t.test('what is not ready is late at once, and ready soon', { skip }, async (t) => {
  const fine = await unchecked('finding := input.subject.id')
  const cold = createModulePool({ isInForce: true, threads: 1 })
  t.teardown(() => cold.close())
  const once = () => evaluate('one', fine, JSON.stringify(question), cold)
  t.same(once(), { fault: 'late', why: 'not_ready' }, 'neither thread nor module')
  await cold.warm()
  const other = await unchecked('finding := "other"')
  t.same(
    evaluate('one', other, '{}', cold),
    { fault: 'late', why: 'not_ready' },
    'a thread without the module',
  )
  t.same(await ask('one', fine, question, cold), { findings: ['me'] })
})

t.test('a subject whose questions ended five threads is late, and others go on', { skip }, async (t) => {
  const fine = await unchecked('finding := input.subject.id')
  const loop = [...'abcde'].map((name) => `\tsome ${name} in input.resource.list`).join('\n')
  const bomb = await unchecked(`${loop}\n\ta + b + c + d + e == -1\n\tfinding := "x"`)
  const drafts = createModulePool({ isInForce: false, threads: 2 })
  t.teardown(() => drafts.close())
  const ended: EndedTask[] = []
  const note = (message: unknown) => {
    if ((message as EndedTask).key === bomb.key) ended.push(message as EndedTask)
  }
  endedTasks.subscribe(note)
  t.teardown(() => endedTasks.unsubscribe(note))
  const paused = { fault: 'late', why: 'paused' }
  for (let tries = 0; ended.length < 5 && tries < 100; tries++) {
    t.match(await ask('looper', bomb, question, drafts), { fault: 'late' })
    await sleep(20) // One that had no CPU in time can go on until it is ended.
  }
  t.same(await ask('looper', fine, question, drafts), paused, 'also with another module')
  t.same(await ask('other', fine, question, drafts), { findings: ['me'] })
  t.same(await ask('looper', fine, question), { findings: ['me'] }, 'drafts pause nothing in force')
  t.equal(ended.length, 5)
  t.match(ended[0], { subject: 'looper', policyId: bomb.key, isInForce: false })
})

t.test('five ends in a minute pause their subject; three subjects or more, the tenant', async (t) => {
  let now = 0
  const pauses = createModulePauses(() => now)
  const charge = (tenantId: string, ...subjects: string[]) => {
    for (const subject of subjects) pauses.charge({ tenantId, subject })
  }
  const isPaused = (tenantId: string, subject: string) => pauses.isPaused({ tenantId, subject })
  charge('one', 'a', 'a', 'a')
  now = 59_000
  charge('two', 'a')
  t.notOk(isPaused('one', 'a'))
  charge('two', 'a')
  t.ok(isPaused('one', 'a'), 'counted over all tenants')
  t.ok(isPaused('three', 'a'))
  charge('one', 'b', 'b', 'b', 'b', 'b')
  t.ok(isPaused('one', 'b'))
  t.notOk(isPaused('one', 'c'), 'two subjects do not pause a tenant')
  now += 60_000
  t.notOk(isPaused('one', 'a'), 'for a minute')
  const byThree = () => charge('one', 'a', 'a', 'b', 'b', 'c')
  for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
    byThree()
    t.notOk(isPaused('two', 'd'))
    now += minutes * 60_000 - 1
    t.ok(isPaused('one', 'd'), `${minutes} minutes`)
    now += 1
    t.notOk(isPaused('one', 'd'))
  }
  now += 60 * 60_000
  byThree()
  now += 60_000
  t.notOk(isPaused('one', 'd'), 'after an hour without, it begins with a minute again')
})

t.test('a process ends two threads in a second', async (t) => {
  let now = 100_000
  const { take } = endLimiter(new Float64Array(2), () => now)
  t.equal(take(), 0)
  now += 300
  t.equal(take(), 0)
  t.equal(take(), 700)
  now += 700
  t.equal(take(), 0)
  t.equal(take(), 300)
})

t.test('a thread that ends by itself is replaced', { skip }, async (t) => {
  setEnvironmentData('threads started', new SharedArrayBuffer(4))
  const thread = new URL('./dying-thread.ts', import.meta.url)
  const one = createModulePool({ isInForce: true, threads: 1, thread })
  t.teardown(() => one.close())
  const fine = await unchecked('finding := input.subject.id')
  const ended = once(process, 'worker').then(([worker]) => once(worker, 'exit'))
  await one.warm()
  await ended
  await one.warm()
  t.match(await ask('one', fine, question, one), { findings: ['me'] })
})

t.test('a system that does not name its threads gets a deadline of time', async (t) => {
  t.equal(threadIdOf('/nowhere/thread-self'), 0)
  t.same(cpuMsOf(0), Number.NaN)
})

t.test('the modules of many tenants do not add up', { skip }, async (t) => {
  const { wasm } = await unchecked('finding := input.subject.id')
  const use = async (count: number) => {
    for (let index = 0; index < count; index++) await ask('other', { key: `many-${index}`, wasm }, question)
  }
  await use(60)
  const before = process.memoryUsage.rss()
  await use(300)
  const grown = (process.memoryUsage.rss() - before) / 1024 / 1024
  t.ok(grown < 64, `${grown.toFixed(0)} MiB for 300 more modules`)
  t.same(
    await ask('other', { key: 'many-0', wasm }, question),
    { findings: ['me'] },
    'a dropped module loads again',
  )
})

t.test('a compiler on PATH is found by a process without it', async (t) => {
  t.match(await pathOf('sh'), /^\/.*\/sh$/)
  t.equal(await pathOf('/opt/opa'), '/opt/opa')
})

t.test('a compilation is limited, and its faults have a line', { skip }, async (t) => {
  const terms = Array.from({ length: 15_000 }, () => '1').join(' + ')
  const sum = `package policy\n\ndeny contains "x" if {\n\tx := ${terms}\n\tx == 1\n}\n`
  const path = await pathOf(String(opa))
  t.match(await compileModule(path, sum, 'deny'), { faults: [{ detail: /too much time or memory/ }] })
  const faulty = await compileModule(path, 'package policy\n\ndeny contains x if true\n', 'deny')
  t.match(faulty, { faults: [{ line: 3, detail: /unsafe/ }] })
})

import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setEnvironmentData } from 'node:worker_threads'
import t from 'tap'
import { readBundle } from '../../src/policy-engine/evaluate/bundle.ts'
import { createModulePauses } from '../../src/policy-engine/sandbox/module-pauses.ts'
import {
  createModulePool,
  type ModuleOutcome,
  type ModulePool,
} from '../../src/policy-engine/sandbox/module-pool.ts'
import { cpuMsOf, threadIdOf } from '../../src/policy-engine/sandbox/thread-cpu.ts'
import { maxInputBytes } from '../../src/policy-engine/sandbox/thread-exchange.ts'
import { compileModule } from '../../src/policy-toolchain/compile-module.ts'
import { pathOf, resolveOpa, run } from '../../src/policy-toolchain/opa.ts'

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message
const place = t.testdir()
const pool = createModulePool({ pauseBy: 'module', spares: 2 })
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

/** Evaluates. A thread that gets no CPU on a busy machine is no answer: then it asks another one. */
async function ask(tenant: string, module: Built, input: object, asked = pool) {
  for (let tries = 0; ; tries++) {
    await asked.warm()
    const { usedMs: _time, ...outcome } = asked.evaluate(tenant, module, JSON.stringify(input))
    if (!('isStuck' in outcome) || tries === 20) return outcome
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
      // A decision that finds no thread ready waits a second at most.
      await pool.warm()
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
    t.match(await ask('conflict', conflict, question), { fault: 'failed', killed: false })
    t.match(pool.evaluate('big', fine, `"${'x'.repeat(maxInputBytes)}"`), { fault: 'failed' })
    t.same(await ask('other', fine, question), { findings: ['me'] })
  },
)

t.test('a module that was killed pauses, and the others of its tenant go on', { skip }, async (t) => {
  const fine = await unchecked('finding := input.subject.id')
  const loop = [...'abcde'].map((name) => `\tsome ${name} in input.resource.list`).join('\n')
  const bomb = await unchecked(`${loop}\n\ta + b + c + d + e == -1\n\tfinding := "x"`)
  const drafts = createModulePool({ pauseBy: 'tenant', spares: 0 })
  t.teardown(() => drafts.close())
  /** What becomes of a module of tenant `one` after the bomb of the same tenant was killed. */
  const afterKill = async (asked: ModulePool, module: Built): Promise<ModuleOutcome> => {
    const evaluate = (each: Built) => asked.evaluate('one', each, JSON.stringify(question))
    for (let tries = 0; ; tries++) {
      await asked.warm()
      const bombed = evaluate(bomb)
      const after = evaluate(module)
      const isPaused = 'why' in after && after.why === 'paused'
      // On a busy machine a thread can have too little CPU time to be killed for it, and the pause of a tenth of a second
      // can be over.
      if (('killed' in bombed && bombed.killed && isPaused) || tries === 20) return after
    }
  }
  const paused = { fault: 'late', killed: false, why: 'paused' }
  t.match(await afterKill(pool, bomb), paused)
  t.match(await ask('one', fine, question), { findings: ['me'] })
  t.match(await afterKill(drafts, fine), paused, 'drafts pause together')
  t.match(await ask('two', fine, question, drafts), { findings: ['me'] })
})

t.test('ten kills of a module, or twenty of a tenant, make the next pause a minute', async (t) => {
  let now = 0
  const after = (ms: number) => {
    now += ms
  }
  const modules = createModulePauses('module', () => now)
  for (let kill = 0; kill < 10; kill++) {
    modules.charge('one', 'slow')
    after(101)
    t.notOk(modules.isPaused('one', 'slow'))
  }
  modules.charge('one', 'slow')
  after(101)
  t.ok(modules.isPaused('one', 'slow'))
  t.notOk(modules.isPaused('one', 'fine'))
  for (let kill = 0; kill < 10; kill++) modules.charge('one', `other-${kill}`)
  after(101)
  t.notOk(modules.isPaused('one', 'other-8'))
  t.ok(modules.isPaused('one', 'other-9'))
  t.notOk(modules.isPaused('one', 'fine'), 'never one that was not killed')
  after(60_000)
  t.notOk(modules.isPaused('one', 'slow'))
  const drafts = createModulePauses('tenant', () => now)
  for (let kill = 0; kill < 11; kill++) drafts.charge('one', `draft-${kill}`)
  after(101)
  t.ok(drafts.isPaused('one', 'another'))
  t.notOk(drafts.isPaused('two', 'another'))
})

t.test('a thread that ends by itself is replaced', { skip }, async (t) => {
  setEnvironmentData('threads started', new SharedArrayBuffer(4))
  const thread = new URL('./dying-thread.ts', import.meta.url)
  const one = createModulePool({ pauseBy: 'module', spares: 0, thread })
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
  t.match(await compileModule(String(opa), sum, 'deny'), { faults: [{ detail: /too much time or memory/ }] })
  const faulty = await compileModule(String(opa), 'package policy\n\ndeny contains x if true\n', 'deny')
  t.match(faulty, { faults: [{ line: 3, detail: /unsafe/ }] })
})

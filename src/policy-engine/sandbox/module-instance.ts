import { type LoadedPolicy, loadPolicy } from '../evaluate/opa-wasm.ts'
import { type ModuleAnswer, maxAnswerBytes } from './thread-exchange.ts'

/** A module of a tenant with memory of its own. Do not use it again after `evaluate` threw. */
export interface TenantInstance {
  /** Evaluates an input (JSON as UTF-8). Throws what the module throws, and for an answer of another form. */
  evaluate(input: Uint8Array): ModuleAnswer
  /** whether an evaluation has left it so large that it should not be kept */
  isLarge(): boolean
}

const page = 64 * 1024
// Of memory. Beyond it the module aborts.
const maxPages = 256
const initialPages = 16
const keptPages = 32

const maxFindings = 10
const maxFinding = 300

/** Instantiates a compiled module. Its data is an empty object: it reaches nothing but its input. Throws if it needs a host. */
export function moduleInstance(module: object): TenantInstance {
  const policy = loadPolicy(module, { initial: initialPages, maximum: maxPages })
  const { exports } = policy.wasmInstance
  const data = writtenJson(policy, '{}')
  const base = exports.opa_heap_ptr_get()
  return {
    evaluate(input) {
      exports.opa_heap_ptr_set(base)
      const address = exports.opa_malloc(input.length)
      bytesOf(policy).set(input, address)
      const heap = exports.opa_heap_ptr_get()
      const answer = exports.opa_eval(0, 0, data, address, input.length, heap, 0)
      const memory = bytesOf(policy)
      const end = memory.subarray(answer, answer + 4 * maxAnswerBytes).indexOf(0)
      if (end < 0) throw new Error('the findings are too long')
      return answerOf(JSON.parse(memory.toString('utf8', answer, answer + end)))
    },
    isLarge: () => policy.mem.buffer.byteLength > keptPages * page,
  }
}

const bytesOf = ({ mem }: LoadedPolicy) => Buffer.from(mem.buffer)

function writtenJson(policy: LoadedPolicy, text: string): number {
  const { exports } = policy.wasmInstance
  const address = exports.opa_malloc(text.length)
  bytesOf(policy).write(text, address, 'utf8')
  return exports.opa_json_parse(address, text.length)
}

function answerOf(results: unknown): ModuleAnswer {
  const findings = (results as { result: unknown }[])[0]?.result ?? []
  if (!Array.isArray(findings)) throw new Error('the findings are not a set')
  const said = findings.slice(0, maxFindings).map(sentenceOf)
  return { findings: said }
}

// A finding of any form counts; only a text can be shown.
const sentenceOf = (finding: unknown): string =>
  typeof finding === 'string' ? finding.slice(0, maxFinding).toWellFormed() : ''

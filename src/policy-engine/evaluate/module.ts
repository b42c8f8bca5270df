import * as sdk from '@open-policy-agent/opa-wasm'
import type { Bundle } from './bundle.ts'

// The compiler is told no DOM, which is where its WebAssembly types live; this is all we use of it.
declare const WebAssembly: { Module: new (bytes: Uint8Array<ArrayBuffer>) => object }

interface Exports {
  builtins(): number
  opa_json_dump(value: number): number
  opa_malloc(bytes: number): number
  opa_json_parse(text: number, bytes: number): number
  opa_value_add_path(base: number, path: number, value: number): number
  opa_heap_ptr_get(): number
  opa_heap_ptr_set(address: number): void
  opa_eval(
    reserved: 0,
    entrypoint: number,
    data: number,
    input: number,
    inputBytes: number,
    heap: number,
    json: 0,
  ): number
}

interface LoadedPolicy {
  minorVersion: number
  mem: { buffer: ArrayBuffer }
  entrypoints: Record<string, number>
  wasmInstance: { exports: Exports }
}

// The published ES module exports the synchronous loader only inside its default export.
const { loadPolicySync } = (
  sdk as unknown as { default: { loadPolicySync(...args: unknown[]): LoadedPolicy } }
).default

export const entrypoints = ['authz/decision', 'authz/explain', 'authz/pattern/trial'] as const
export type Entrypoint = (typeof entrypoints)[number]

const page = 64 * 1024
const pagesAtFirst = (4 * 1024 * 1024) / page
/** What an instance can take: about 1,000 slices and one evaluation. A runaway evaluation ends here. */
const pagesAtMost = (64 * 1024 * 1024) / page

/** One instance of the policy module. After any throw of `evaluate` it must not be used again. */
export interface PolicyInstance {
  /**
   * Evaluates an input (JSON, see `inputText`) with a slice, whose `text` is parsed once per object. Answers the
   * result, undefined where there is none; throws strings, objects or errors.
   */
  evaluate(entrypoint: Entrypoint, input: string, slice: { readonly text: string }): unknown
  /** whether a slice is parsed already */
  holds(slice: object): boolean
  /** bytes in use at the end of the last evaluation, parsed slices included */
  usedBytes(): number
}

const maxInput = 4 * 1024 * 1024
const halfCharacter = /(?<!\\)(?:\\\\)*\\ud[89a-f]/

/** What is evaluated, as JSON. Throws what would abort the module: half a character, or megabytes. */
export function inputText(input: unknown): string {
  const text = JSON.stringify(input)
  if (text.length > maxInput) throw new Error('the input is too large')
  // `JSON.stringify` escapes halves alone; whole characters stand as they are.
  if (text.includes('\\ud') && halfCharacter.test(text)) throw new Error('the input holds half a character')
  return text
}

/**
 * Compiles the module and returns how to instantiate it, with a memory of at most `pages` of 64 KiB. Throws where its
 * ABI is not 1.2 or a later 1.x, where it calls back into the host for a built-in, or where it lacks an entry
 * point.
 */
export function compileModule(bundle: Bundle, pages = pagesAtMost): () => PolicyInstance {
  const module = new WebAssembly.Module(bundle.wasm)
  return () => {
    const policy = loadPolicySync(module, { initial: Math.min(pagesAtFirst, pages), maximum: pages })
    assertTrusted(policy)
    return arena(policy, bundle.data as { catalogue: unknown })
  }
}

/** The built-ins a module expects its host to carry out; a policy of ours may use none of them. */
export function foreignBuiltins(wasm: Uint8Array<ArrayBuffer>): string[] {
  return Object.keys(
    hostBuiltins(loadPolicySync(new WebAssembly.Module(wasm), { initial: 16, maximum: 256 })),
  )
}

/**
 * Keeps parsed slices in the instance and evaluates with the address of one, because parsing costs ten times
 * what evaluating does. An address means something in this instance alone, so both live in one closure. From
 * low to high: the catalogue, the slices, then input and workings of the evaluation under way.
 */
function arena(
  { wasmInstance: { exports }, mem, entrypoints: ids }: LoadedPolicy,
  data: { catalogue: unknown },
) {
  let view = Buffer.from(mem.buffer)
  // A memory that grew is another buffer, and the old one has no length any more.
  const memory = (): Buffer => {
    if (view.length === 0) view = Buffer.from(mem.buffer)
    return view
  }
  const parsed = (value: string): number => {
    const bytes = Buffer.byteLength(value)
    const text = exports.opa_malloc(bytes)
    memory().write(value, text, 'utf8')
    const address = exports.opa_json_parse(text, bytes)
    if (address === 0) throw new Error('the module does not take its data')
    return address
  }
  const catalogue = parsed(JSON.stringify(data.catalogue))
  const place = parsed('["catalogue"]')
  let top = exports.opa_heap_ptr_get()
  const slices = new WeakMap<object, number>()

  function dataWith(slice: { readonly text: string }): number {
    const known = slices.get(slice)
    if (known !== undefined) return known
    exports.opa_heap_ptr_set(top)
    const address = parsed(`{"slice":${slice.text}}`)
    if (exports.opa_value_add_path(address, place, catalogue) !== 0)
      throw new Error('no place for the catalogue')
    top = exports.opa_heap_ptr_get()
    slices.set(slice, address)
    return address
  }

  // Only the module may let its memory grow: it does not know what its host adds.
  function makeRoom(bytes: number): void {
    exports.opa_heap_ptr_set(top)
    exports.opa_malloc(bytes)
    if (top + bytes > memory().length) throw new Error('the input does not fit')
  }

  function evaluate(entrypoint: Entrypoint, text: string, slice: { readonly text: string }): unknown {
    const dataAddress = dataWith(slice)
    const bytes = Buffer.byteLength(text)
    if (top + bytes > memory().length) makeRoom(bytes)
    memory().write(text, top, 'utf8')
    const heap = (top + bytes + 7) & ~7
    const answer = exports.opa_eval(0, ids[entrypoint] as number, dataAddress, top, bytes, heap, 0)
    const results = JSON.parse(memory().toString('utf8', answer, view.indexOf(0, answer)))
    return results.length === 1 ? results[0].result : undefined
  }

  return {
    evaluate,
    holds: (slice: object) => slices.has(slice),
    usedBytes: () => exports.opa_heap_ptr_get(),
  }
}

function assertTrusted(policy: LoadedPolicy): void {
  // The SDK itself refuses a major ABI other than 1; before 1.2 it would take a path that leaks.
  if (!(policy.minorVersion >= 2)) throw new Error('the module speaks an ABI older than 1.2')
  const foreign = Object.keys(hostBuiltins(policy))
  if (foreign.length > 0) throw new Error(`the module needs built-ins of the host: ${foreign.join(', ')}`)
  for (const entrypoint of entrypoints) {
    if (!Object.hasOwn(policy.entrypoints, entrypoint)) throw new Error(`the module lacks ${entrypoint}`)
  }
}

function hostBuiltins({ wasmInstance: { exports }, mem }: LoadedPolicy): Record<string, number> {
  const address = exports.opa_json_dump(exports.builtins())
  const bytes = new Uint8Array(mem.buffer)
  return JSON.parse(Buffer.from(bytes.subarray(address, bytes.indexOf(0, address))).toString('utf8'))
}

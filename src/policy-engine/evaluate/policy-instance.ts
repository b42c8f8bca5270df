import { textWithoutPolicies } from '../compile/slice.ts'
import type { Bundle } from './bundle.ts'
import { hostBuiltins, type LoadedPolicy, loadPolicy, WasmModule } from './opa-wasm.ts'

export const entrypoints = ['authz/decision', 'authz/explain', 'authz/pattern/trial'] as const
type Entrypoint = (typeof entrypoints)[number]

const page = 64 * 1024
const initialPages = (4 * 1024 * 1024) / page
// Room for about 1,000 slices and one evaluation. A runaway evaluation ends at this limit.
const maxPages = (64 * 1024 * 1024) / page

/** One instance of the policy module. Do not use it again after `evaluate` threw. */
export interface PolicyInstance {
  /**
   * Evaluates an input (JSON, see `inputText`) with a slice, whose `text` is parsed once per object, and without policies once. Returns the
   * result, or undefined if there is none. Throws strings, objects or errors.
   */
  evaluate(entrypoint: Entrypoint, input: string, slice: { readonly text: string }): unknown
  /** whether this slice is parsed */
  holds(slice: { readonly text: string }): boolean
  /** bytes in use at the end of the last evaluation, parsed slices included */
  usedBytes(): number
}

const maxInput = 4 * 1024 * 1024
const loneSurrogate = /(?<!\\)(?:\\\\)*\\ud[89a-f]/

/** The input as JSON. Throws if it would abort the module: with a lone surrogate, or above 4 MiB. */
export function inputText(input: unknown): string {
  const text = JSON.stringify(input)
  if (text.length > maxInput) throw new Error('the input is too large')
  // `JSON.stringify` escapes lone surrogates only.
  if (text.includes('\\ud') && loneSurrogate.test(text)) throw new Error('the input has a lone surrogate')
  return text
}

/**
 * Compiles the module and returns a function that instantiates it, with at most `pages` of 64 KiB. That function throws
 * if the ABI is not 1.2 or a later 1.x, if the module needs a built-in of its host, or if an entry point is missing.
 */
export function instantiatorOf(bundle: Bundle, pages = maxPages): () => PolicyInstance {
  const module = new WasmModule(bundle.wasm)
  return () => {
    const policy = loadPolicy(module, { initial: Math.min(initialPages, pages), maximum: pages })
    assertTrusted(policy)
    return instanceOf(policy, bundle.data)
  }
}

/** The built-ins that a module expects from its host. The service's policies must not need any. */
export function foreignBuiltins(wasm: Uint8Array<ArrayBuffer>): string[] {
  return Object.keys(hostBuiltins(loadPolicy(new WasmModule(wasm), { initial: 16, maximum: 256 })))
}

/**
 * Keeps parsed slices in the instance and evaluates with the address of one, because parsing costs ten times as much
 * as evaluating. An address is valid in this instance only, so both are in one closure. The memory from low to high:
 * the catalogue, the slices, then the input and the working memory of the current evaluation.
 */
function instanceOf(
  { wasmInstance: { exports }, mem, entrypoints: ids }: LoadedPolicy,
  data: { catalogue: unknown },
): PolicyInstance {
  let view = Buffer.from(mem.buffer)
  // When the memory grows it becomes a new buffer, and the old one gets the length 0.
  const memory = (): Buffer => {
    if (view.length === 0) view = Buffer.from(mem.buffer)
    return view
  }
  const parsed = (value: string): number => {
    const bytes = Buffer.byteLength(value)
    const text = exports.opa_malloc(bytes)
    memory().write(value, text, 'utf8')
    const address = exports.opa_json_parse(text, bytes)
    if (address === 0) throw new Error('the module cannot parse its data')
    return address
  }
  const catalogue = parsed(JSON.stringify(data.catalogue))
  const cataloguePath = parsed('["catalogue"]')
  const parsedData = (sliceText: string): number => {
    const address = parsed(`{"slice":${sliceText}}`)
    if (exports.opa_value_add_path(address, cataloguePath, catalogue) !== 0)
      throw new Error('the module cannot add the catalogue')
    return address
  }
  const withoutPolicies = parsedData(textWithoutPolicies)
  let top = exports.opa_heap_ptr_get()
  const slices = new WeakMap<object, number>()
  const addressOf = (slice: { readonly text: string }) =>
    slice.text === textWithoutPolicies ? withoutPolicies : slices.get(slice)

  function dataWith(slice: { readonly text: string }): number {
    const known = addressOf(slice)
    if (known !== undefined) return known
    exports.opa_heap_ptr_set(top)
    const address = parsedData(slice.text)
    top = exports.opa_heap_ptr_get()
    slices.set(slice, address)
    return address
  }

  // The module must grow its memory itself: it does not notice growth by the host.
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
    holds: (slice) => addressOf(slice) !== undefined,
    usedBytes: () => exports.opa_heap_ptr_get(),
  }
}

function assertTrusted(policy: LoadedPolicy): void {
  // The SDK refuses a major ABI other than 1. Before 1.2 it uses a way of evaluating that leaks memory.
  if (!(policy.minorVersion >= 2)) throw new Error('the module has an ABI older than 1.2')
  const foreign = Object.keys(hostBuiltins(policy))
  if (foreign.length > 0) throw new Error(`the module needs built-ins of the host: ${foreign.join(', ')}`)
  for (const entrypoint of entrypoints) {
    if (!Object.hasOwn(policy.entrypoints, entrypoint)) throw new Error(`the module lacks ${entrypoint}`)
  }
}

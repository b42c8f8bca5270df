import * as sdk from '@open-policy-agent/opa-wasm'

// TypeScript declares WebAssembly in its DOM library, which this project does not include. This is the part in use.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  compile(bytes: Uint8Array<ArrayBuffer>): Promise<object>
}

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

export interface LoadedPolicy {
  minorVersion: number
  mem: { buffer: ArrayBuffer }
  entrypoints: Record<string, number>
  wasmInstance: { exports: Exports }
}

// The published ES module has the synchronous loader only in its default export.
const { loadPolicySync } = (
  sdk as unknown as { default: { loadPolicySync(...args: unknown[]): LoadedPolicy } }
).default

/** A compiled module; the constructor compiles. */
export const WasmModule = WebAssembly.Module

/** Compiles a module in threads of V8. It can be sent to another thread. */
export const compileWasm = (bytes: Uint8Array<ArrayBuffer>): Promise<object> => WebAssembly.compile(bytes)

/** Instantiates a module with memory of so many pages of 64 KiB. Throws if it needs more than `maximum` to load. */
export const loadPolicy = (module: object, memory: { initial: number; maximum: number }): LoadedPolicy =>
  loadPolicySync(module, memory)

/** The built-ins that a module expects from its host, by name. */
export function hostBuiltins({ wasmInstance: { exports }, mem }: LoadedPolicy): Record<string, number> {
  const address = exports.opa_json_dump(exports.builtins())
  const bytes = new Uint8Array(mem.buffer)
  return JSON.parse(Buffer.from(bytes.subarray(address, bytes.indexOf(0, address))).toString('utf8'))
}

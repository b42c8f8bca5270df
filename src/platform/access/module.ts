import * as sdk from '@open-policy-agent/opa-wasm'
import type { Bundle } from './bundle.ts'

// The compiler is told no DOM, which is where its WebAssembly types live; this is all we use of it.
declare const WebAssembly: { Module: new (bytes: Uint8Array<ArrayBuffer>) => object }

interface LoadedPolicy {
  minorVersion: number
  mem: { buffer: ArrayBuffer }
  entrypoints: Record<string, number>
  wasmInstance: { exports: { builtins(): number; opa_json_dump(address: number): number } }
  setData(data: unknown): void
  evaluate(input: unknown, entrypoint: number): unknown
}

// The published ES module exports the synchronous loader only inside its default export.
const { loadPolicySync } = (
  sdk as unknown as { default: { loadPolicySync(...args: unknown[]): LoadedPolicy } }
).default

/** 1 MiB to begin with, 16 MiB at most: a decision needs a few KB, and a runaway one must end. */
const memory = { initial: 16, maximum: 256 }

/** One instance of the policy module. After any throw of `evaluate` it must not be used again. */
export interface PolicyInstance {
  /** answers `[{ result }]`, or `[]` where the entry point is undefined; throws strings, objects or errors */
  evaluate(input: unknown): unknown
  /** bytes of memory; it grows and never shrinks */
  memoryBytes(): number
}

/**
 * Compiles the module and returns how to instantiate it. Throws where its ABI is not 1.2 or a later 1.x, where
 * it calls back into the host for a built-in, or where it lacks the entry point.
 */
export function compileModule(bundle: Bundle, entrypoint: string): () => PolicyInstance {
  const module = new WebAssembly.Module(bundle.wasm)
  return () => {
    const policy = loadPolicySync(module, { ...memory })
    assertTrusted(policy, entrypoint)
    policy.setData(bundle.data)
    const id = policy.entrypoints[entrypoint] as number
    return {
      evaluate: (input) => policy.evaluate(input, id),
      memoryBytes: () => policy.mem.buffer.byteLength,
    }
  }
}

/** The built-ins a module expects its host to carry out; a policy of ours may use none of them. */
export function foreignBuiltins(wasm: Uint8Array<ArrayBuffer>): string[] {
  return Object.keys(hostBuiltins(loadPolicySync(new WebAssembly.Module(wasm), { ...memory })))
}

function assertTrusted(policy: LoadedPolicy, entrypoint: string): void {
  // The SDK itself refuses a major ABI other than 1; before 1.2 it would take a path that leaks.
  if (!(policy.minorVersion >= 2)) throw new Error('the module speaks an ABI older than 1.2')
  const foreign = Object.keys(hostBuiltins(policy))
  if (foreign.length > 0) throw new Error(`the module needs built-ins of the host: ${foreign.join(', ')}`)
  if (!Object.hasOwn(policy.entrypoints, entrypoint)) throw new Error(`the module lacks ${entrypoint}`)
}

function hostBuiltins({ wasmInstance: { exports }, mem }: LoadedPolicy): Record<string, number> {
  const address = exports.opa_json_dump(exports.builtins())
  const bytes = new Uint8Array(mem.buffer)
  return JSON.parse(Buffer.from(bytes.subarray(address, bytes.indexOf(0, address))).toString('utf8'))
}

import { compileWasm } from '../evaluate/opa-wasm.ts'

/** A compiled module, while it is compiled its promise, or null for bytes that are no module. */
type Compiled = { module?: object | null; done: Promise<void> }

// As long as the bytes are in use, so is what was compiled from them: the cache of policies limits both.
const compiled = new WeakMap<Uint8Array, Compiled>()

/** Compiles a module in the background, once. Resolves when it is compiled, or cannot be. */
export function compileAhead(wasm: Uint8Array<ArrayBuffer>): Promise<void> {
  const known = compiled.get(wasm)
  if (known) return known.done
  const entry: Compiled = {
    done: compileWasm(wasm).then(
      (module) => {
        entry.module = module
      },
      () => {
        entry.module = null
      },
    ),
  }
  compiled.set(wasm, entry)
  return entry.done
}

/** The module of these bytes; undefined while it is not compiled, null if it cannot be. */
export const compiledModule = (wasm: Uint8Array<ArrayBuffer>): object | null | undefined =>
  compiled.get(wasm)?.module

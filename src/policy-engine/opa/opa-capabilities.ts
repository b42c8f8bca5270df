import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readBundle } from '../evaluate/bundle.ts'
import { foreignBuiltins } from '../evaluate/policy-instance.ts'
import { run } from './opa.ts'

interface Builtin {
  name: string
  decl: { args?: unknown[] }
  deprecated?: boolean
}

interface Capabilities {
  builtins: Builtin[]
  features: string[]
}

// The compiler removes these completely, so the module does not show whether they are native.
const erased = /^(print|trace|rego\.)/
// These are written as syntax; a call by name does not compile.
const syntax = new Set(['assign'])

/**
 * The text of `capabilities/platform.json`: only the built-ins that the compiler turns into WebAssembly. To find them,
 * this compiles one call of each built-in and reads from the module which of them it imports from its host. No string
 * interpolation, no future keywords.
 */
export async function nativeCapabilities(opa: string): Promise<string> {
  const current = JSON.parse((await run(opa, ['capabilities', '--current'])).stdout) as Capabilities
  const callable = current.builtins.filter(({ name, deprecated }) => !deprecated && !erased.test(name))
  const foreign = new Set(
    await foreignOf(
      opa,
      callable.filter(({ name }) => !syntax.has(name)),
    ),
  )
  const builtins = callable.filter(({ name }) => !foreign.has(name)).map(withoutProse)
  return `${JSON.stringify({ builtins, future_keywords: [], features: ['rego_v1'] }, null, 2)}\n`
}

const withoutProse = (builtin: Builtin) => ({ ...builtin, description: undefined, categories: undefined })

async function foreignOf(opa: string, builtins: Builtin[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-opa-'))
  try {
    await writeFile(join(folder, 'probe.rego'), probe(builtins))
    const bundle = join(folder, 'probe.tar.gz')
    const { code, stderr } = await run(opa, ['build', '-t', 'wasm', '-o', bundle, join(folder, 'probe.rego')])
    if (code !== 0) throw new Error(stderr)
    return foreignBuiltins(readBundle(bundle, 'probe').wasm)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function probe(builtins: Builtin[]): string {
  const calls = builtins.map(({ name, decl }) => `calls contains "${name}" if ${name}(${inputs(decl.args)})`)
  return ['package probe', '', '# METADATA', '# entrypoint: true', ...calls, ''].join('\n')
}

const inputs = (args: unknown[] = []) => args.map((_arg, index) => `input.a${index}`).join(', ')

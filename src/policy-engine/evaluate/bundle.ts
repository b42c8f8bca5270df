import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { DataType } from '../compile/conditions.ts'

/** The folder of the service's policies and of the built bundle. */
export const policiesFolder = fileURLToPath(new URL('../../../policies/', import.meta.url))
export const bundleName = 'bundle.tar.gz'

export interface Bundle {
  wasm: Uint8Array<ArrayBuffer>
  data: { readonly catalogue: unknown; readonly attributes: ReadAttributes; readonly rules: RuleReads }
  /** hash of the sources from which the bundle was built */
  revision: string
  /** whether it contains rules of the installation (POLICIES_DIR) */
  isExtended: boolean
}

/** The built-in attributes that rules of the service and of the installation read, with their types. */
export type ReadAttributes = Readonly<Record<string, DataType>>

/** The rules of the service and of the installation that look at the resource itself, so that no plan can be made. */
export interface RuleReads {
  readonly look_at_resource: readonly string[]
}

/** The data of the bundle, generated: the action table, and what rules read (`ReadAttributes`, `RuleReads`). */
const dataFiles = ['catalogue/data.json', 'attributes/data.json', 'rules/data.json']

const maxBytes = 16 * 1024 * 1024

/** Reads a bundle made by `opa build -t wasm`; `revision` is the default for its revision. Throws if it is invalid. */
export function readBundle(path: string, revision?: string): Bundle {
  const files = untar(gunzipSync(readFileSync(path), { maxOutputLength: maxBytes }))
  const manifest = JSON.parse(text(files, '.manifest'))
  const named = manifest.revision || revision
  if (typeof named !== 'string') throw new Error('the bundle names no revision')
  const wasm = Uint8Array.from(file(files, 'policy.wasm'))
  return { wasm, data: JSON.parse(text(files, 'data.json')), revision: named, isExtended: false }
}

/** The module of a bundle made by `opa build -t wasm`, given as its bytes. Throws if it is invalid. */
export function bundleModule(bundle: Buffer): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(file(untar(gunzipSync(bundle, { maxOutputLength: maxBytes })), 'policy.wasm'))
}

/** SHA-256 (hex) of the sources of the bundle: paths and contents of all Rego files but the tests, and the data. */
export function sourcesRevision(folder: string): string {
  const hash = createHash('sha256')
  for (const path of bundleSources(folder)) {
    const content = readFileSync(join(folder, path))
    hash.update(`${path}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

function bundleSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => dataFiles.includes(path) || /(?<!_test)\.rego$/.test(path))
    .sort()
}

// A bundle is ustar: blocks of 512 bytes. A header has the name at 0 and the octal size at 124; the content follows.
function untar(tar: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const name = tar.toString('utf8', at, tar.indexOf(0, at)).replace(/^\//, '')
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 136), 8)
    if (!Number.isSafeInteger(size)) throw new Error('the bundle is not a tar archive')
    files.set(name, tar.subarray(at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}

function file(files: Map<string, Buffer>, name: string): Buffer {
  const content = files.get(name)
  if (!content) throw new Error(`the bundle has no ${name}`)
  return content
}

const text = (files: Map<string, Buffer>, name: string) => file(files, name).toString('utf8')

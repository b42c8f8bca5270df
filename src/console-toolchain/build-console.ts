import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { build, type Metafile } from 'esbuild'
import { openapiDocument } from '../api-description/openapi.ts'
import { listRoutes } from '../app.ts'
import { readConfig } from '../config.ts'
import type { Deps } from '../deps.ts'
import { apiTypes } from './api-types.ts'

// npm run console: writes the types of the API, which the client publishes, and the bundle of the pages. With --check it writes nothing, and exits 1
// if a committed file differs from what it would write.

const root = join(import.meta.dirname, '..', '..')
const browser = join(root, 'src/console/browser')
const bundle = join(root, 'src/console/bundle')
const typesFile = join(root, 'src/client/api-types.ts')

/** The types of the API, from the routes. Their functions are not called, so they need no dependencies. */
function generatedTypes(): string {
  const deps = { config: readConfig({}, []) } as Deps
  const routes = listRoutes(deps, { ready: async () => undefined, drain() {} })
  return apiTypes(openapiDocument(routes, { publicUrl: '/', version: '0' }))
}

/** The files of the bundle by name. The same sources give the same bytes. */
async function bundledFiles(): Promise<Map<string, string>> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(browser, 'main.tsx')],
    outdir: bundle,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    jsx: 'automatic',
    minify: true,
    legalComments: 'none',
    charset: 'utf8',
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  const files = new Map(outputFiles.map(({ path, text }) => [relative(bundle, path), text]))
  files.set('index.json', `${JSON.stringify(indexOf(metafile), null, 2)}\n`)
  files.set('LICENSES.txt', licencesOf(metafile))
  return files
}

/** What the page loads: its script, its style, and the parts that the script imports at once; and what the SBOM names. */
function indexOf({ inputs, outputs }: Metafile) {
  const nameOf = (path: string) => relative(bundle, join(root, path))
  // Each file that is imported lazily is an entry point, too.
  const [script, entry] = Object.entries(outputs).find(([, one]) => one.entryPoint?.endsWith('/main.tsx'))!
  const parts = entry.imports.filter(({ kind }) => kind === 'import-statement')
  return {
    script: nameOf(script),
    style: nameOf(entry.cssBundle ?? ''),
    parts: parts.map(({ path }) => nameOf(path)).sort(),
    packages: foldersOf(inputs),
  }
}

/** The folders of the packages whose code is in the bundle. */
const foldersOf = (inputs: Metafile['inputs']): string[] => {
  const folders = Object.keys(inputs).flatMap(
    (path) => /^node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  )
  return [...new Set(folders)].sort()
}

/** The licences of the packages in the bundle, which have to go with it. */
function licencesOf({ inputs }: Metafile): string {
  const texts = foldersOf(inputs).map((folder) => {
    const file = readdirSync(join(root, folder)).find((name) => /^licen[cs]e/i.test(name))
    const text = file ? readFileSync(join(root, folder, file), 'utf8').trim() : 'MIT'
    return `${folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)}\n\n${text}\n`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

/** The names of files below `folder` that differ from `wanted`, missing and superfluous ones included. */
function differing(folder: string, wanted: ReadonlyMap<string, string>): string[] {
  const present = existsSync(folder) ? readdirSync(folder) : []
  const isSame = (name: string) =>
    present.includes(name) && readFileSync(join(folder, name), 'utf8') === wanted.get(name)
  return [...new Set([...present, ...wanted.keys()])].filter((name) => !isSame(name))
}

const { values } = parseArgs({ options: { check: { type: 'boolean' } } })
const types = generatedTypes()
if (!values.check) writeFileSync(typesFile, types)
const files = await bundledFiles()
if (values.check) {
  const faults = differing(bundle, files)
  if (readFileSync(typesFile, 'utf8') !== types) faults.push('../client/api-types.ts')
  for (const name of faults) console.error(`src/console differs: ${name}. Run: npm run console`)
  process.exitCode = faults.length > 0 ? 1 : 0
} else {
  rmSync(bundle, { recursive: true, force: true })
  mkdirSync(bundle, { recursive: true })
  for (const [name, text] of files) writeFileSync(join(bundle, name), text)
  console.log(`console: ${files.size} files`)
}

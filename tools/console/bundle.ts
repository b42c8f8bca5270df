import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build, type Metafile } from 'esbuild'

// The bundle of the console, which git ignores. This imports nothing of the service, so that the image can build it alone.

const root = join(import.meta.dirname, '..', '..')
const pages = join(root, 'packages/console')
const bundle = join(pages, 'bundle')

/** What the page loads, what the SBOM names, and what it was built from. */
interface Index {
  script: string
  style: string
  /** What the script imports at once. */
  parts: string[]
  /** Folders of the packages whose code is in the bundle. */
  packages: string[]
  /** A hash of the sources. */
  sources: string
}

/** Builds the bundle, unless it is that of these sources; gives whether it did. Two builds at once do not disturb each other. */
export async function buildConsole(): Promise<boolean> {
  const sources = hashOfSources()
  if (builtFrom() === sources) return false
  const files = await bundledFiles(sources)
  mkdirSync(bundle, { recursive: true })
  // The index comes last: what it names is there. The names of the other files contain a hash of their content.
  for (const [name, text] of files) {
    const path = join(bundle, name)
    writeFileSync(`${path}.${process.pid}`, text)
    renameSync(`${path}.${process.pid}`, path)
  }
  for (const name of readdirSync(bundle))
    if (!files.has(name) && !/\.\d+$/.test(name)) rmSync(join(bundle, name), { force: true })
  return true
}

function builtFrom(): string | undefined {
  const index = join(bundle, 'index.json')
  return existsSync(index) ? (JSON.parse(readFileSync(index, 'utf8')) as Partial<Index>).sources : undefined
}

/** Of everything that can change the bundle: the pages, the client, the versions of packages, and this file. */
function hashOfSources(): string {
  const below = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(bundle))
      .map((entry) => join(entry.parentPath, entry.name))
  const files = [
    ...below(pages),
    ...below(join(root, 'packages/client')),
    join(root, 'package-lock.json'),
    import.meta.filename,
  ]
  const hash = createHash('sha256')
  for (const file of files.sort()) hash.update(`${relative(root, file)}\0${readFileSync(file, 'utf8')}\0`)
  return hash.digest('hex')
}

/** The files of the bundle by name, the index last. The same sources give the same bytes. Throws if they cannot be bundled. */
export async function bundledFiles(sources = hashOfSources()): Promise<Map<string, string>> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(pages, 'main.tsx')],
    outdir: bundle,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    jsx: 'automatic',
    // For `base-ui/*` in tsconfig.json: the parts that are used, where the entry of a package keeps all of them.
    resolveExtensions: ['.mjs', '.js'],
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
  files.set('LICENSES.txt', licencesOf(metafile))
  return files.set('index.json', `${JSON.stringify({ ...indexOf(metafile), sources }, null, 2)}\n`)
}

function indexOf({ inputs, outputs }: Metafile): Omit<Index, 'sources'> {
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

/** The folders of the packages whose code is in the bundle. A checkout can have node_modules elsewhere, by a link. */
const foldersOf = (inputs: Metafile['inputs']): string[] => {
  const folders = Object.keys(inputs).flatMap(
    (path) => /(?:^|\/)(node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
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

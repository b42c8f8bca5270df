import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { opaVersion } from '../../src/policy-engine/opa/opa.ts'
import { buildConsole } from '../console/bundle.ts'
import type { Lock, Manifest } from './find-lock-problems.ts'

/** What we add to or read of the CycloneDX 1.5 that npm writes. */
export interface Bom {
  serialNumber: string
  metadata: { timestamp?: string; component: { 'bom-ref': string } }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

export interface Component {
  'bom-ref': string
  type: string
  name: string
  version?: string
  description?: string
  scope?: string
  purl?: string
  licenses?: { license: { id: string } }[]
  hashes?: { alg: string; content: string }[]
}

const exec = promisify(execFile)

/**
 * The production dependencies of package-lock.json, and what is there in built form, as CycloneDX 1.5. The same
 * files, the same `at` and the same npm give the same bytes.
 */
export async function buildSbom(root: string, at?: Date): Promise<Bom> {
  const [manifest, lock] = await Promise.all([
    readJson(root, 'package.json'),
    readJson(root, 'package-lock.json'),
  ])
  const bom = await npmSbom(manifest, lock)
  const built = await builtComponents(root, lock)
  bom.components.push(...built)
  bom.dependencies
    .find(({ ref }) => ref === bom.metadata.component['bom-ref'])!
    .dependsOn.push(...built.map((component) => component['bom-ref']))
  return {
    ...bom,
    serialNumber: serialNumber(bom),
    metadata: { ...bom.metadata, timestamp: at?.toISOString() },
  }
}

const readJson = async (root: string, file: string) => JSON.parse(await readFile(join(root, file), 'utf8'))

/**
 * `npm sbom` of a lock without its development dependencies. `npm sbom --omit=dev` on the whole lock would leave out
 * every package that development needs, too, such as pg and nodemailer.
 */
async function npmSbom(manifest: Manifest, lock: Lock): Promise<Bom> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-sbom-'))
  try {
    const project = join(folder, 'bailiwick') // npm names the root after its folder
    await mkdir(project)
    const root = { ...manifest, devDependencies: {}, workspaces: [] }
    await writeFile(join(project, 'package.json'), JSON.stringify(root))
    await writeFile(join(project, 'package-lock.json'), JSON.stringify(productionLock(lock)))
    const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only']
    const options = { cwd: project, maxBuffer: 64 * 1024 * 1024, shell: process.platform === 'win32' }
    const { stdout } = await exec('npm', [...args, '--loglevel=error', `--prefix=${project}`], options)
    return JSON.parse(stdout)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Without the workspaces, which have no dependencies at run time but those of the service. */
function productionLock(lock: Lock): Lock {
  const packages = Object.entries(lock.packages).filter(
    ([path, entry]) => !entry.dev && !entry.link && (path === '' || path.startsWith('node_modules/')),
  )
  return { ...lock, packages: Object.fromEntries(packages) }
}

/** What npm does not know: the files that were made from others' work before they were committed. */
async function builtComponents(root: string, lock: Lock): Promise<Component[]> {
  const common = lock.packages['node_modules/@zxcvbn-ts/language-common']?.version
  return [
    {
      'bom-ref': `opa@${opaVersion}`,
      type: 'library',
      name: 'opa',
      version: opaVersion,
      description: 'Compiled policies/bundle.tar.gz, which contains its WebAssembly runtime',
      scope: 'required',
      purl: `pkg:golang/github.com/open-policy-agent/opa@v${opaVersion}`,
      licenses: [{ license: { id: 'Apache-2.0' } }],
    },
    await fileComponent(
      root,
      'policies/bundle.tar.gz',
      `policies/ compiled by opa ${opaVersion}`,
      'Apache-2.0',
    ),
    await fileComponent(
      root,
      'src/identity/auth/breached-passwords.bin',
      `From example.dict of hashcat-data 6.2.6 and @zxcvbn-ts/language-common ${common}`,
      'MIT',
    ),
    ...(await bundledPackages(root, lock)),
  ]
}

/** The packages whose code is in the bundle of the console. */
async function bundledPackages(root: string, lock: Lock): Promise<Component[]> {
  await buildConsole()
  const { packages } = await readJson(root, 'packages/console/bundle/index.json')
  return (packages as string[]).map((path) => {
    const { version = '', integrity = '', license } = lock.packages[path] ?? {}
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return {
      'bom-ref': `console/${name}@${version}`,
      type: 'library',
      name,
      version,
      description: 'In packages/console/bundle',
      scope: 'required',
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      licenses: [{ license: { id: license ?? '' } }],
      hashes: [
        { alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') },
      ],
    }
  })
}

async function fileComponent(
  root: string,
  path: string,
  description: string,
  licence: string,
): Promise<Component> {
  const content = createHash('sha256')
    .update(await readFile(join(root, path)))
    .digest('hex')
  return {
    'bom-ref': path,
    type: 'file',
    name: path,
    description,
    scope: 'required',
    hashes: [{ alg: 'SHA-256', content }],
    licenses: [{ license: { id: licence } }],
  }
}

/** A UUID (RFC 9562, version 8) of what is in it, in place of npm's random one. */
function serialNumber({ components, dependencies }: Bom): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([components, dependencies]))
    .digest('hex')
  const [, a, b, c, d, e] = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hash)!
  return `urn:uuid:${a}-${b}-8${c}-8${d}-${e}`
}

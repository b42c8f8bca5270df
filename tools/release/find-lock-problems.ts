/** What the check reads of package.json. */
export interface Manifest {
  name?: string
  workspaces?: string[]
  scripts?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  allowScripts?: Record<string, boolean>
}

/** One package of package-lock.json, under its path below the root: `node_modules/koa`. */
export interface LockEntry {
  /** the real name, where the folder has another: `npm:` aliases */
  name?: string
  version?: string
  resolved?: string
  integrity?: string
  link?: boolean
  license?: string
  deprecated?: string
  hasInstallScript?: boolean
  dev?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

export interface Lock {
  packages: Record<string, LockEntry>
}

const licences = new Set([
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0', 'CC-BY-3.0', 'ISC'],
  ...['MIT', 'MIT-0', 'MPL-2.0', 'Unlicense', 'Zlib'],
])

/** Packages whose manifest names no licence, and the licence that their files have. */
const licenceOfFiles: Record<string, string> = { 'jsonc-simple-parser': 'MIT' }

/** The real name of a package of the lock: `koa` of `node_modules/x/node_modules/koa`. */
export const packageName = (path: string, entry: LockEntry): string =>
  entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

/**
 * What in package.json, those of its workspaces and package-lock.json must not be there, one sentence each; empty if all
 * is well. Reads these alone: every package that is not a workspace comes from the registry by a SHA-512, runs no script
 * without a decision, and has a licence that we accept.
 */
export function findLockProblems(
  manifest: Manifest,
  lock: Lock,
  workspaces: readonly Manifest[] = [],
): string[] {
  const entries = Object.entries(lock.packages).filter(([path, entry]) => !isOurs(path, entry))
  const manifests = [manifest, ...workspaces]
  const direct = Object.fromEntries(
    manifests
      .flatMap((one) => Object.entries({ ...one.dependencies, ...one.devDependencies }))
      .filter(([name, range]) => !(range === '*' && isWorkspace(name))),
  )
  const aliases = aliasesOf([direct, ...entries.flatMap(([, entry]) => dependenciesOf(entry))])
  return [
    ...manifests.flatMap(({ scripts = {} }) => Object.keys(scripts).filter(isRunByNpm).map(lifecycleProblem)),
    ...Object.entries(direct).flatMap(([name, range]) => rangeProblems(name, range)),
    ...entries.flatMap(([path, entry]) => [
      ...originProblems(path, entry, aliases),
      ...scriptProblems(path, entry, manifest.allowScripts ?? {}),
      ...licenceProblems(path, entry),
      ...deprecationProblems(path, entry, direct),
    ]),
  ]

  // Of any version, so that npm never asks the registry for a package of this name.
  function isWorkspace(name: string): boolean {
    return workspaces.some((one) => one.name === name)
  }

  /** The checkout and its workspaces, and the links to these. */
  function isOurs(path: string, entry: LockEntry): boolean {
    const { resolved = '' } = entry
    const folders = ['', ...(manifest.workspaces ?? [])]
    return (
      folders.includes(path) ||
      (entry.link === true && folders.includes(resolved) && isWorkspace(packageName(path, entry)))
    )
  }
}

/** The lines of a committed .npmrc that name a registry or hold its credentials, which are each machine's own. */
export function findNpmrcProblems(npmrc: string): string[] {
  const lines = npmrc
    .split('\n')
    .filter((line) => /^\s*(@[^:=]+:)?registry\s*=|^\s*\/\/|_auth|_password/.test(line))
  return lines.map(
    (line) => `.npmrc has "${line.split('=')[0]?.trim()}": move it to the .npmrc of your home folder`,
  )
}

const dependenciesOf = (entry: LockEntry) => [entry.dependencies ?? {}, entry.optionalDependencies ?? {}]

/** Folder → real name, of every `npm:` alias that some manifest asks for. */
function aliasesOf(requests: Record<string, string>[]): Map<string, string> {
  const found = requests.flatMap((ranges) =>
    Object.entries(ranges).flatMap(([name, range]) => {
      const [, target] = /^npm:(@?[^@]+)/.exec(range) ?? []
      return target ? [[name, target] as const] : []
    }),
  )
  return new Map(found)
}

/** Names under which `npm ci` runs a script without being asked: without dev dependencies, or with an older Node, it fails. */
const isRunByNpm = (script: string): boolean =>
  /^(pre|post)?(install|prepare|dependencies)$|^prepublish$/.test(script)

const lifecycleProblem = (script: string): string =>
  `package.json has the script "${script}", which npm runs after an installation: give it another name`

const rangeProblems = (name: string, range: string): string[] =>
  /^[~^]?\d+\.\d+\.\d+(-[\w.]+)?$/.test(range)
    ? []
    : [`package.json asks for ${name} by "${range}": name a version, with ^ or ~ or neither`]

function originProblems(path: string, entry: LockEntry, aliases: Map<string, string>): string[] {
  const problems: string[] = []
  // .npmrc has omit-lockfile-registry-resolved: only what is not from the registry gets a `resolved`.
  if (entry.resolved || entry.link)
    problems.push(`${path} is not from the registry (resolved: ${entry.resolved}): depend on a version of it`)
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? ''))
    problems.push(`${path} has no single sha512 integrity: delete the entry and run npm install`)
  const folder = packageName(path, { ...entry, name: undefined })
  if (entry.name && entry.name !== folder && aliases.get(folder) !== entry.name)
    problems.push(`${path} holds ${entry.name}, and no manifest asks for that alias: restore the entry`)
  return problems
}

function scriptProblems(path: string, entry: LockEntry, allowed: Record<string, boolean>): string[] {
  const name = packageName(path, entry)
  if (!entry.hasInstallScript || name in allowed || `${name}@${entry.version}` in allowed) return []
  return [`${path} has an install script: add "${name}" to allowScripts in package.json, true or false`]
}

function licenceProblems(path: string, entry: LockEntry): string[] {
  const name = packageName(path, entry)
  const licence = entry.license ?? licenceOfFiles[name] ?? ''
  if (isAccepted(licence)) return []
  return [`${path} has the licence "${licence}", which is not among those accepted: replace the package`]
}

/** Flat SPDX expressions alone; what is nested is refused. */
function isAccepted(expression: string): boolean {
  const flat = expression.replace(/^\((.*)\)$/, '$1')
  if (flat.includes(' OR ')) return flat.split(' OR ').some((licence) => licences.has(licence))
  return flat.split(' AND ').every((licence) => licences.has(licence))
}

function deprecationProblems(path: string, entry: LockEntry, direct: Record<string, string>): string[] {
  const name = path.slice('node_modules/'.length)
  if (!entry.deprecated || !(name in direct)) return []
  return [`${name}@${entry.version} is deprecated: ${entry.deprecated}`]
}

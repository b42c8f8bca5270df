import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commands } from '../../src/cli/commands.ts'
import { opaVersion } from '../../src/policy-engine/opa/opa.ts'
import { actors } from '../../workers/actors.ts'

// The files for containers and systemd: whatever they name exists. Nothing here builds an image.

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map((match) => match.slice(1).find((group) => group !== undefined) ?? '')

const image = read('Dockerfile')
const compose = read('docker-compose.yml')
const kubernetes = read('docs/operations/kubernetes.yaml')
const units = readdirSync(join(root, 'docs/operations'))
  .filter((name) => /\.(service|socket)$/.test(name))
  .map((name) => `docs/operations/${name}`)

t.test('the variables that they set are settings', async (t) => {
  const settings = new Set(all(read('docs/reference/settings.md'), /^\| `(\w+)`/gm))
  const set = {
    Dockerfile: all(image, /^ENV (.*)$/gm).flatMap((line) => all(line, /(\w+)=/g)),
    'docker-compose.yml': all(compose, /^ +(?:# )?([A-Z][A-Z_]+): /gm),
    'kubernetes.yaml': all(kubernetes, /\{ name: ([A-Z_]+),/g),
    units: units.flatMap((unit) => all(read(unit), /^Environment=([A-Z_]+)=/gm)),
  }
  const ofOthers = /^(POSTGRES_|PG|REDISCLI_|MALLOC_|DEPLOY_PASSWORD$|PATH$)/
  for (const [file, names] of Object.entries(set)) {
    t.ok(names.length > 0, file)
    t.same(
      names.filter((name) => !settings.has(name) && !ofOthers.test(name)),
      [],
      file,
    )
  }
})

t.test('the commands that they run exist', async (t) => {
  const entries: readonly string[] = ['api', 'worker', 'cli']
  const names = new Set([...actors.map(({ name }) => name), ...commands.map(({ name }) => name)])
  const files = ['Dockerfile', 'docker-compose.yml', 'docs/operations/kubernetes.yaml', ...units]
  const run = files.flatMap((file) => all(read(file), /src\/start\/entry\.cjs([^\]\n|]*)/g))
  t.ok(run.length >= 10, `${run.length} commands`)
  for (const line of run) {
    const [entry = '', name] = line.split(/[\s",.]+/).filter(Boolean)
    t.ok(entries.includes(entry), line)
    if (name) t.ok(names.has(name), line)
  }
})

t.test('the files that they copy, import and mount exist', async (t) => {
  const copied = all(image, /^COPY (?!--from)(.*) \S+$/gm).flatMap((line) => line.split(' '))
  const sent = all(read('.dockerignore'), /^!(.*)$/gm)
  t.same([...new Set(copied)].toSorted(), sent.toSorted(), '.dockerignore sends what the image copies')
  const imported = all(image, /import\('\/app\/([^']+)'\)/g)
  const mounted = all(compose, /"\.\/([^:"]+):/g)
  t.ok(imported.length > 0 && mounted.length > 0)
  for (const path of [...copied, ...imported, ...mounted]) t.ok(existsSync(join(root, path)), path)
})

t.test('the image has the compiler and the Node that the service needs', async (t) => {
  t.match(image, `opa@v${opaVersion}\n`)
  const [needed] = all(JSON.parse(read('package.json')).engines.node, /(\d+)/g)
  t.match(image, `NODE_IMAGE=node:${needed}-slim`)
})

t.test('the image copies from stages that exist, runs as a user without rights, and has a probe', (t) => {
  const stages = image.split(/^FROM /m).slice(1)
  const from = all(image, /^COPY --from=(\w+)/gm)
  t.same(from.toSorted(), all(image, /^FROM \S+ AS (\w+)$/gm).toSorted(), 'every named stage is used')
  const last = stages.at(-1) ?? ''
  t.match(last, /^\S+\n/, 'the last stage is the image')
  t.same(all(last, /^USER (.*)$/gm), ['node'])
  t.equal(all(last, /^(HEALTHCHECK|CMD) /gm).join(' '), 'HEALTHCHECK CMD')
  // A name of a base image is an argument, so that a build can pin it.
  const bases = all(image, /^FROM (\S+)/gm).map((base) => base.replace(/^\$\{(\w+)\}$/, '$1'))
  t.same([...new Set(bases)].toSorted(), all(image, /^ARG (\w+)=/gm).toSorted())
  t.end()
})

t.test('probes ask the management port, for paths that it serves', async (t) => {
  const [port = '', management = ''] = all(image, /\bPORT=(\d+) MANAGEMENT_PORT=\d+/g).concat(
    all(image, /MANAGEMENT_PORT=(\d+)/g),
  )
  t.match(image, `EXPOSE ${port} ${management}`)
  t.same([...new Set(all(kubernetes, /containerPort: (\d+)/g))], [port, management])
  t.match(compose, `:${port}:${port}"`)
  const health = read('src/pages/health.ts')
  const paths = new Set([
    ...all(kubernetes, /httpGet: \{ path: (\S+), port: management \}/g),
    ...all(image, /path: '(\/\w+)'/g),
  ])
  t.same([...paths].toSorted(), ['/healthz', '/readyz'])
  for (const path of paths) t.match(health, path)
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { furnish } from '../adversary/furnish.ts'
import { startService } from '../helpers/service.ts'

// Schemathesis makes requests from /openapi.json and holds the answers against it: a second opinion on the attack
// `malformed`, from another project. It is a package of Python: pip install schemathesis.

const program = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'schemathesis'))
  .find((path) => existsSync(path))
const skip = program ? false : 'no schemathesis: pip install schemathesis'

/** Paths that end the session or the tenant of the run. */
const harmful =
  '/(logout|logout-all|suspend|archive|revoke|password/change|switch-tenant)/$|^/api/v1/users/me/$|^/api/v1/tenants/\\{id\\}/$|/sessions/'
// Not `positive_data_acceptance`: a cursor, a code, the token of a link or the id of a department that fits its schema is
// still refused if it does not exist, and Schemathesis makes up most of them.
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
]
/** The service refuses an address or a body that is too long before it reads what is in it. Schemathesis expects 400 for it. */
const settings = `[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "414", "415", "422", "429"]
`

/**
 * The description of the API without what is said there and not refused: the maximum of `page_size`, since a larger one is
 * lowered, and the form of an item of many, since a faulty one stands alone.
 */
async function described(url: string) {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document
  for (const { get } of Object.values(document.paths))
    for (const { name, schema } of get?.parameters ?? []) if (name === 'page_size') delete schema.maximum
  const { ResourceRegistrations, ResourceNames } = document.components.schemas
  for (const body of [ResourceRegistrations, ResourceNames]) body!.properties.resources!.items = {}
  return document
}

interface Document {
  paths: Record<string, { get?: { parameters?: { name: string; schema: { maximum?: number } }[] } }>
  components: { schemas: Record<string, { properties: Record<string, { items?: object }> }> }
}

t.test(
  'answers are as /openapi.json says and never 5xx, and what it forbids is refused',
  { skip },
  async (t) => {
    const service = await startService(t, { workers: false, env: { RATE_LIMIT_ENABLED: 'false' } })
    const { owner } = await furnish(service)
    const folder = await mkdtemp(join(tmpdir(), 'schemathesis-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    await writeFile(join(folder, 'schemathesis.toml'), settings)
    const document = join(folder, 'openapi.json')
    await writeFile(document, JSON.stringify(await described(service.url)))
    const options = Object.entries({
      header: `Authorization: Bearer ${owner.access}`,
      'exclude-path-regex': harmful,
      checks: checks.join(','),
      phases: 'examples,coverage,fuzzing',
      'max-examples': '4',
      'max-time': '300',
      seed: '20261122',
    }).map(([name, value]) => `--${name}=${value}`)
    const args = ['run', document, `--url=${service.url}`, ...options, '--continue-on-failure', '--no-color']
    const child = spawn(program!, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    t.comment(...(printed.match(/Tested: \d+|\d+ generated/g) ?? []))
    t.equal(code, 0, /= FAILURES =.{0,6000}/s.exec(printed)?.[0] ?? printed.slice(-6_000))
  },
)

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')

interface Source {
  /** Path below the root, with slashes. */
  path: string
  text: string
  /** Its imports: paths below the root, or names of packages. */
  imports: string[]
  /** The same without imports of types only. */
  loads: string[]
}

const importLine = /^(?:import|export)\s(?:(type)\s)?(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm
const dynamicImport = /\bimport\(['"]([^'"]+)['"]\)/g

function sourceAt(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const target = (name: string) =>
    name.startsWith('.') ? relative(root, resolve(root, dirname(path), name)).replaceAll('\\', '/') : name
  const lines = [...text.matchAll(importLine)].map(([, type, name = '']) => ({ type, name: target(name) }))
  const dynamic = [...text.matchAll(dynamicImport)].map(([, name = '']) => target(name))
  return {
    path,
    text,
    imports: [...lines.map(({ name }) => name), ...dynamic],
    loads: [...lines.filter(({ type }) => !type).map(({ name }) => name), ...dynamic],
  }
}

const filesBelow = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))

const sources = ['src', 'workers', 'packages', 'tools']
  .flatMap(filesBelow)
  .filter((path) => /\.tsx?$/.test(path))
  .sort()
  .map(sourceAt)
const contexts = ['identity', 'tenancy', 'authorization', 'events']
const contextOf = (path: string) => contexts.find((name) => path.startsWith(`src/${name}/`))
const featureOf = (path: string) => /^src\/\w+\/[\w-]+\//.exec(path)?.[0]
const belowFeatures = (path: string) =>
  /^src\/(messages|lists|request|http|database|limits|crypto|observe|settings)\//.test(path)

/** The import lines for which `wrong` gives true, as "a imports b". */
const edges = (wrong: (from: string, to: string) => boolean, of: 'imports' | 'loads' = 'imports') =>
  sources.flatMap(({ path, [of]: imports }) =>
    imports.filter((to) => wrong(path, to)).map((to) => `${path} imports ${to}`),
  )
const thatSay = (text: RegExp, but: RegExp) =>
  sources.filter((source) => text.test(source.text) && !but.test(source.path)).map(({ path }) => path)

t.test('the walk sees every import', async (t) => {
  t.ok(sources.length > 100)
  const app = sources.find(({ path }) => path === 'src/start/app.ts')!
  t.ok(app.imports.includes('koa') && app.imports.includes('src/request/route.ts'))
  t.notOk(app.loads.includes('src/request/route.ts'), 'imported for its types only')
  const lost = edges(
    (_from, to) => to.startsWith('src/') && !/\.css$/.test(to) && !sources.some(({ path }) => path === to),
  )
  t.same(lost, [], 'every target is a file')
})

/** Folders of `src` on their floors: a file imports its own floor and those below. */
const floors = [
  ['start', 'cli'],
  ['oauth'],
  ['federation', 'directory'],
  ['pages'],
  ['installation'],
  ['authorization'],
  ['identity'],
  ['tenancy'],
  ['events'],
  ['messages', 'lists'],
  ['request'],
  ['http'],
  ['database'],
  ['settings'],
  ['limits', 'crypto', 'observe'],
  ['policy-engine'],
  ['text', 'languages'],
]

t.test('`src` has two files beside its folders, and each folder has its floor', async (t) => {
  const loose = sources.filter(({ path }) => /^src\/[^/]+$/.test(path)).map(({ path }) => path)
  t.same(loose, ['src/deps.ts', 'src/errors.ts'])
  t.same(
    readdirSync(join(root, 'src'))
      .filter((name) => !name.includes('.'))
      .toSorted(),
    floors.flat().toSorted(),
  )
})

t.test('what files load leads down the floors', async (t) => {
  const floorOf = (path: string) =>
    floors.findIndex((names) => names.some((name) => path.startsWith(`src/${name}/`)))
  const upward = edges((from, to) => floorOf(to) >= 0 && floorOf(to) < floorOf(from), 'loads')
  t.same(upward, [])
})

t.test('a folder has at most 25 files', async (t) => {
  const folders = Map.groupBy(sources, ({ path }) => dirname(path))
  const full = [...folders].filter(([, files]) => files.length > 25).map(([folder]) => folder)
  t.same(full, ['packages/console/parts', 'packages/console/policies'])
})

/** Every file that `path` imports, directly or through others. */
function reached(path: string, of: 'imports' | 'loads', found = new Set<string>()): Set<string> {
  for (const to of sources.find((source) => source.path === path)?.[of] ?? [])
    if (!found.has(to)) reached(to, of, found.add(to))
  return found
}

t.test('no import circle leads through deps.ts or open-deps.ts, types included', async (t) => {
  for (const path of ['src/deps.ts', 'src/start/open-deps.ts'])
    t.notOk(reached(path, 'imports').has(path), path)
})

/** What request-path.ts runs, one after the other. Any of them can use `decide.ts`. */
const steps = [
  ...['receive', 'verify-token', 'load-request', 'authenticate', 'run-route', 'answer/show-answer'],
  'answer/respond',
].map((name) => `src/request/${name}.ts`)

t.test('a step of a request knows no other step, types included', async (t) => {
  const path = sources.find(({ path }) => path === 'src/request/request-path.ts')!
  t.same(
    steps.filter((step) => !path.loads.includes(step)),
    [],
  )
  const joins = ['src/request/request-path.ts', 'src/request/change/stored-call.ts']
  t.same(
    edges((from, to) => from.startsWith('src/request/') && steps.includes(to) && !joins.includes(from)),
    [],
  )
  const circular = sources.filter(
    ({ path }) => path.startsWith('src/request/') && reached(path, 'imports').has(path),
  )
  t.same(
    circular.map(({ path }) => path),
    [],
  )
})

t.test('no file below the features loads itself through others', async (t) => {
  const circular = sources.filter(({ path }) => belowFeatures(path) && reached(path, 'loads').has(path))
  t.same(
    circular.map(({ path }) => path),
    [],
  )
})

t.test(
  'contexts depend on each other in one direction: identity and authorization on tenancy, none on events',
  async (t) => {
    const allowed = new Set(['identity tenancy', 'authorization tenancy', 'authorization identity'])
    t.same(
      edges((from, to) => {
        const [a, b] = [contextOf(from), contextOf(to)]
        return a !== undefined && b !== undefined && a !== b && !allowed.has(`${a} ${b}`)
      }),
      [],
    )
  },
)

t.test('a feature uses verbs and stores of other features, never their routes', async (t) => {
  t.same(
    edges(
      (from, to) =>
        /\/routes\.ts$/.test(to) &&
        from !== 'src/start/app.ts' &&
        featureOf(from) !== featureOf(to) &&
        contextOf(to) !== undefined,
      'loads',
    ),
    [],
  )
})

t.test(
  'only routes, app, the pages, OpenID Connect, federation, SCIM, request and http import Koa',
  async (t) => {
    t.same(
      edges(
        (from, to) =>
          /^(koa|@koa\/)/.test(to) &&
          !/^src\/(start|request|http|pages|oauth|federation|directory)\/|\/routes\.ts$/.test(from),
      ),
      [],
    )
  },
)

t.test('only OpenID Connect imports its library, and loads it with the first request', async (t) => {
  t.same(
    edges((from, to) => to === 'oidc-provider' && !from.startsWith('src/oauth/')),
    [],
  )
  t.same(
    edges((_from, to) => to === 'oidc-provider', 'loads'),
    ['src/oauth/answer-protocol.ts imports oidc-provider'],
  )
})

t.test('only SAML imports its libraries, and loads them in its thread', async (t) => {
  const libraries = ['@node-saml/node-saml', '@xmldom/xmldom']
  t.same(
    edges((from, to) => libraries.includes(to) && !from.startsWith('src/federation/saml/')),
    [],
  )
  const outside = [...reached('src/federation/saml/ask-saml-thread.ts', 'loads')]
  t.same(
    outside.filter((path) => libraries.includes(path)),
    [],
  )
})

t.test('only stores, the database and messages contain SQL', async (t) => {
  const speaks = /\bsql\.(type|unsafe|fragment)\b/
  const may =
    /store\.ts$|^src\/events\/envelope\.ts$|^src\/database\/|^src\/messages\/(outbox|queues|mail|audit)\/|^src\/lists\/|^src\/pages\/health\.ts$|^src\/start\/development\/mailbox\.ts$|^workers\/deps\.ts$/
  t.same(thatSay(speaks, may), [])
  const drives = edges(
    (from, to) =>
      to === 'pg' &&
      !/^src\/(database|messages\/(queues|outbox)|cli|start\/development)\/|^workers\/deps\.ts$/.test(from),
    'loads',
  )
  t.same(drives, [])
})

t.test('only the database knows that it can be a cluster', async (t) => {
  const told = sources.filter(
    ({ path, text }) =>
      /^(src|workers)\/(?!database\/)/.test(path) &&
      // Of the embedded Postgres, a cluster is its folder.
      (path.startsWith('src/start/development/') ? /distribut|citus/i : /distribut|citus|cluster/i).test(
        text,
      ),
  )
  t.same(
    told.map(({ path }) => path),
    [
      'src/cli/commands.ts', // lists the command
      'src/cli/commands/distribute.ts', // makes one of a database
      'src/cli/commands/doctor.ts', // asks whether it is one
      'src/settings/connections.ts', // DATABASE_DISTRIBUTED says it
    ],
  )
})

t.test('the schema of a row is made once, not for each statement', async (t) => {
  t.strictSame(
    thatSay(/sql\.type\((?!\w+\)|…\))/, /^$/),
    [],
    'zod compiles each schema that is made: that takes longer than the statement',
  )
})

// The API role sees the row of its caller and no other. What these features show of people is copied in memberships.
t.test('features of tenants read the row of a person as the system role, or of their caller', async (t) => {
  const others = sources
    .filter(({ path }) => /^(src\/(tenancy|authorization|events|installation)|workers)\//.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:from|join|update|into) users\b[^`)\n]*/g)].map(
        ([read]) => `${path}: ${read.replaceAll(/\$\{\w+\}/g, '$n').replace(/\$\{lock.*/, 'and a lock')}`,
      ),
    )
  t.same(others, [
    'src/tenancy/members/person-store.ts: from users u where $n', // the person who joins: as the system role, or the caller
    'src/tenancy/members/store.ts: join users u on u.id = $n', // as the system role
    'src/tenancy/tenants/store.ts: join users u on u.id = $n', // as the system role
    'src/tenancy/tenants/store.ts: from users where id = $n and a lock', // the caller
  ])
})

t.test('only one feature writes each table', async (t) => {
  const writes = /\b(?:insert into|update|delete from)\s+([a-z_]+)/g
  const owners = new Map<string, Set<string>>()
  for (const { path, text } of sources) {
    const owner = featureOf(path)
    if (!/store\.ts$/.test(path) || !contextOf(path) || !owner) continue
    for (const [, table = ''] of text.matchAll(writes)) {
      if (['set', 'of', 'as', 'skip'].includes(table)) continue
      owners.set(table, (owners.get(table) ?? new Set()).add(owner))
    }
  }
  const shared = [...owners].filter(([, features]) => features.size > 1)
  t.same(
    shared.map(([table, features]) => `${table}: ${[...features].join(', ')}`),
    [],
  )
  t.ok(owners.size >= 8, `${owners.size} tables`)
})

t.test('only config.ts reads the environment', async (t) => {
  const snippets = 'packages/console/applications/snippets.ts' // texts for other programs
  t.same(thatSay(/process\.env\b/, /^src\/settings\/config\.ts$|^tools\//), [snippets])
})

t.test('the policy engine imports only itself and text, and only it imports the policy module', async (t) => {
  t.same(
    edges(
      (from, to) =>
        from.startsWith('src/policy-engine/') &&
        /^(src|workers)\//.test(to) &&
        !/^src\/(policy-engine|text)\//.test(to),
    ),
    [],
  )
  t.same(
    edges((from, to) => /opa-wasm/.test(to) && !from.startsWith('src/policy-engine/')),
    [],
  )
})

t.test('the texts of pages and mails import nothing of the service', async (t) => {
  t.same(
    edges((from, to) => /^src\/languages\//.test(from) && !/^src\/languages\//.test(to)),
    [],
  )
})

t.test('the service imports neither packages nor tools', async (t) => {
  t.same(
    edges((from, to) => /^(src|workers)\//.test(from) && /^(packages|tools)\//.test(to)),
    [],
  )
})

t.test(
  'the console imports only itself, the client as a package, and packages of its manifest',
  async (t) => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'packages/console/package.json'), 'utf8'))
    const own = [...Object.keys(devDependencies), 'base-ui'] // tsconfig.json says what `base-ui/*` is
    const isOwn = (to: string) => own.some((name) => to === name || to.startsWith(`${name}/`))
    t.same(
      edges(
        (from, to) =>
          from.startsWith('packages/console/') &&
          !from.endsWith('/snippets.ts') && // texts for other programs
          !/^packages\/console\//.test(to) &&
          !isOwn(to),
      ),
      [],
    )
    t.same(
      thatSay(/\bfetch\(/, /^(src|workers|tools|packages\/client)\//),
      ['packages/console/api/client.ts'], // what the client sends goes below /console/
    )
  },
)

t.test('the client imports nothing but itself and jose, and openid-client to sign people in', async (t) => {
  const isForSignIn = (from: string, to: string) =>
    to === 'openid-client' && from.startsWith('packages/client/sign-in/')
  t.same(
    edges(
      (from, to) =>
        from.startsWith('packages/client/') &&
        !/^(packages\/client\/|jose$)/.test(to) &&
        !isForSignIn(from, to),
    ),
    [],
  )
  const others = /^packages\/client\/(?!sign-in\/)/
  t.same(
    edges((from, to) => others.test(from) && /^packages\/client\/sign-in\//.test(to), 'loads'),
    [],
    'what signs no one in does not load it',
  )
})

t.test('no files import each other in a circle, types aside', async (t) => {
  const loads = new Map(
    sources.map(({ path, loads }) => [path, loads.filter((to) => /^(src|workers)\//.test(to))]),
  )
  const finished = new Set<string>()
  const circles: string[] = []
  const visit = (path: string, trail: string[]) => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    else if (!finished.has(path)) for (const to of loads.get(path) ?? []) visit(to, [...trail, path])
    finished.add(path)
  }
  for (const path of loads.keys()) visit(path, [])
  t.same(circles, [])
})

t.test('only the development process starts workers', async (t) => {
  t.same(
    edges(
      (from, to) =>
        from.startsWith('src/') && to.startsWith('workers/') && !from.startsWith('src/start/development/'),
    ),
    [],
  )
})

t.test('no file imports an entry point', async (t) => {
  t.same(
    edges((_from, to) =>
      /^(src\/start\/main\.ts|workers\/main\.ts|src\/cli\/cli\.ts|src\/start\/development\/start\.ts|tools\/tour\/tour\.ts)$/.test(
        to,
      ),
    ),
    [],
  )
})

t.test('one file signs tokens, and one issues access and refresh tokens', async (t) => {
  // The secret of a client at Apple is a token that the client signs: none of ours.
  t.same(thatSay(/\bSignJWT\b/, /^src\/(crypto\/token-signer|federation\/providers\/apple)\.ts$/), [])
  t.same(
    thatSay(
      /\bsigner\.sign\(\s*'(access|refresh)'|\bsign\(\s*'(access|refresh)'/,
      /^src\/identity\/sign-in\/issue-tokens\.ts$/,
    ),
    [],
  )
  // An assertion is a JWT of another issuer, a proof one of its client.
  const verify =
    /^(src\/(crypto\/token-signer|oauth\/trusts\/check-assertion|request\/dpop-proof)|packages\/client\/verify-token)\.ts$/
  t.same(thatSay(/\bjwtVerify\b/, verify), [])
  t.same(thatSay(/\bargon2\b/, /^src\/(crypto\/passwords|identity\/import\/export-formats)\.ts$/), [])
})

t.test(
  'time is an argument: no statement takes it from the database, and no verb from the machine',
  async (t) => {
    const statement = /\b(now\(\)|current_timestamp|clock_timestamp\(|localtimestamp|statement_timestamp\()/i
    const sqlOf = (text: string) =>
      [...text.matchAll(/sql\.(?:type\([^`]*?\)|unsafe|fragment)`([^`]*)`/gs)].map(([, s]) => s)
    const asking = sources.filter(({ text }) => sqlOf(text).some((text) => statement.test(text ?? '')))
    t.same(
      asking.map(({ path }) => path),
      [],
    )
    const features = sources.filter(({ path }) => contextOf(path) || /^workers\/(?!deps)/.test(path))
    const machine = features.filter(({ text }) => /\bDate\.now\(|\bnew Date\(\)/.test(text))
    t.same(
      machine.map(({ path }) => path),
      [],
    )
  },
)

/** The text of a constant of the file. */
const constant = (text: string, name?: string) =>
  name && new RegExp(`const ${name} =\\s*'([^']+)'`).exec(text)?.[1]

t.test(
  'system-role.md lists every caller of the role that sees several tenants, with the reason',
  async (t) => {
    const golden = new URL('system-role.md', import.meta.url)
    const calls = /\b(?:as|readAs|readSharedAs|writeAs)System\(\s*[\w.]+,\s*(?:'([^']+)'|"([^"]+)"|(\w+))?/g
    const rows = sources
      .filter(({ path }) => !/^src\/database\/executor\/(transaction|read|batch)\.ts$/.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(calls)].map(
          ([, single, double, name]) =>
            `| ${path} | ${single ?? double ?? constant(text, name) ?? '(no reason)'} |`,
        ),
      )
    const now = ['| Caller | Why no tenant or person will do |', '|---|---|', ...new Set(rows), ''].join('\n')
    if (process.env.UPDATE_WALKS) writeFileSync(golden, now)
    t.equal(
      now,
      readFileSync(golden, 'utf8'),
      'UPDATE_WALKS=1 rewrites system-role.md, so that a review shows the change',
    )
    t.notMatch(now, '(no reason)')
  },
)

t.test('files are named after what they do', async (t) => {
  const names = [...sources.map(({ path }) => path), ...filesBelow('test')]
  const drawer = /^(utils?|helpers?|types?|common|misc|shared|services?|index|constants)\.[cm]?[jt]s$/
  t.same(
    names.filter((path) => drawer.test(basename(path)) && path !== 'test/helpers/service.ts'), // it starts the service under test
    [],
  )
  t.same(
    names.filter((path) => !/^[a-z0-9.-]+$/.test(basename(path)) && !/snap|fixture/.test(path)),
    [],
  )
})

t.test('stores have at most 400 lines, all other files 250', async (t) => {
  const limit = (path: string) => (/store\.ts$/.test(path) ? 400 : 250)
  const written = sources.filter(
    ({ path }) =>
      !/^packages\/(client\/api-types|console\/api\/names)\.ts$/.test(path) && // npm run console writes them
      !/^src\/languages\/[a-z]{2}\.ts$/.test(path), // a language is one file
  )
  const long = written.filter(({ path, text }) => text.trimEnd().split('\n').length > limit(path))
  t.same(
    long.map(({ path }) => path),
    [],
  )
})

t.test('no file has open tasks, disabled checks or paths of one machine', async (t) => {
  const all = [
    ...filesBelow('src'),
    ...filesBelow('workers'),
    ...filesBelow('test'),
    ...filesBelow('policies'),
  ].filter(
    (path) => /\.(ts|cjs|js|css|sql|rego|json|md|txt)$/.test(path) && path !== 'test/walks/layout.test.ts',
  )
  const matching = (pattern: RegExp) =>
    all.filter((path) => pattern.test(readFileSync(join(root, path), 'utf8')))
  t.same(matching(/\b(TODO|FIXME|XXX|HACK)\b\s*[:(]/), [])
  t.same(matching(/(?:^|[\s'"`(=])\/(?:root|work|home\/\w+|Users\/\w+|mnt)\//m), [])
  t.same(matching(/@ts-(ignore|nocheck|expect-error)|eslint-disable/), [])
  t.same(matching(/\b(t|test)\.only\(|\bdebugger\b/), [])
})

t.test('code has only syntax that Node can strip', async (t) => {
  t.same(thatSay(/^\s*(export\s+)?(const\s+)?enum\s/m, /^$/), [])
  t.same(thatSay(/constructor\([^)]*\b(private|public|protected|readonly)\s/s, /^$/), [])
  t.same(
    edges((_from, to) => /^(src|workers)\//.test(to) && !/\.(tsx?|js|css|json)$/.test(to)),
    [],
  )
})

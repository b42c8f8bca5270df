import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'

const root = join(import.meta.dirname, '..', '..')

/** A checkout with only the entry and a command that prints its arguments and settings. */
async function checkout(t: Test): Promise<string> {
  const folder = t.testdir({
    'package.json': '{"type":"module"}',
    'old.cjs': pretendTo('20.19.0'),
    src: { start: {} },
    tools: { tour: {} },
  })
  await cp(join(root, 'src', 'start', 'entry.cjs'), join(folder, 'src', 'start', 'entry.cjs'))
  await writeFile(join(folder, 'tools', 'tour', 'tour.ts'), tour)
  return folder
}

function pretendTo(version: string): string {
  return `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
}

const tour = `import { readdirSync } from 'node:fs'
  import argon2 from 'argon2'
  const threads = (): number => process.platform === 'linux' ? readdirSync('/proc/self/task').length : 0
  const before = threads()
  const hashes = Array.from({ length: 8 }, () => argon2.hash('secret', { memoryCost: 4096, timeCost: 8 }))
  const added = threads() - before
  await Promise.all(hashes)
  console.log(JSON.stringify({ size: process.env.UV_THREADPOOL_SIZE, added, args: process.argv.slice(2) }))`

function enter(
  folder: string,
  args: string[],
  options: { old?: boolean; size?: string; node?: string[] } = {},
) {
  const { UV_THREADPOOL_SIZE, ...env } = process.env
  const node = [...(options.node ?? []), join(folder, 'src', 'start', 'entry.cjs')]
  const more = {
    ...(options.old && { NODE_OPTIONS: `--require ${JSON.stringify(join(folder, 'old.cjs'))}` }),
    ...(options.size && { UV_THREADPOOL_SIZE: options.size }),
  }
  return new Promise<{ code: number; out: string; err: string }>((done) => {
    execFile(process.execPath, [...node, ...args], { env: { ...env, ...more } }, (error, out, err) => {
      done({ code: Number(error?.code ?? 0), out, err })
    })
  })
}

t.test('if something is missing, the entry names one command that helps, and exits 1', async (t) => {
  const folder = await checkout(t)
  const unknown = await enter(folder, ['fly'])
  t.match(unknown, {
    code: 1,
    err: /"fly" is not one of start, api, worker, cli, tour, bench, chaos, policies, build, console, test, adversary, dependencies:check, sbom, client, release\. Run: npm start\n$/,
  })
  t.match(await enter(folder, []), { code: 1, err: /Run: npm start\n$/ })
  t.match(await enter(folder, ['tour']), { code: 1, err: /not installed\. Run: npm ci\n$/ })

  await mkdir(join(folder, 'node_modules'))
  const { code, err } = await enter(folder, ['start'])
  t.match({ code, err }, { code: 1, err: /^npm start is for development: .*run-in-production\.md\n$/ })
  t.match(await enter(folder, ['tour'], { old: true }), {
    code: 1,
    err: /run-in-production\.md, "Node"\), or run: npm ci --include=dev\n$/,
  })

  await mkdir(join(folder, 'node_modules', 'node'))
  const blocked = await enter(folder, ['tour'], { old: true })
  t.match(blocked, { code: 1, err: /Node 20\.19\.0, .* Run: npm rebuild node --ignore-scripts=false\n$/ })

  await mkdir(join(folder, 'node_modules', 'node', 'bin'))
  await writeFile(join(folder, 'node_modules', 'node', 'bin', 'node'), '')
  const direct = await enter(folder, ['tour', '--phone', 'x'], { old: true })
  t.match(direct, { code: 1, err: /Run: npm run tour -- --phone x\n$/ })
  t.match(await enter(folder, ['tour'], { old: true }), { code: 1, err: /Run: npm run tour\n$/ })
  const settings = join(folder, 'my.env')
  await writeFile(settings, '')
  const { err: withOptions } = await enter(folder, ['tour', '--phone', 'x'], {
    old: true,
    node: [`--env-file=${settings}`],
  })
  t.ok(
    withOptions.endsWith(
      ` Run: node_modules/.bin/node --env-file=${settings} src/start/entry.cjs tour --phone x\n`,
    ),
    withOptions,
  )
})

t.test('the oldest supported Node is 24.15', async (t) => {
  const folder = await checkout(t)
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [version, code] of [
    ['22.22.0', 1],
    ['24.14.9', 1],
    ['24.15.0', 0],
    ['25.0.0', 0],
  ] as const) {
    await writeFile(join(folder, 'old.cjs'), pretendTo(version))
    t.equal((await enter(folder, ['tour'], { old: true })).code, code, version)
  }
})

t.test('by default the thread pool has three threads more than there are cores, and they run', async (t) => {
  const folder = await checkout(t)
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const size = availableParallelism() + 3
  const unset = JSON.parse((await enter(folder, ['tour', '--a', 'b'])).out)
  t.match(unset, { size: String(size), args: ['--a', 'b'] })
  const set = JSON.parse((await enter(folder, ['tour'], { size: '7' })).out)
  t.match(set, { size: '7', args: [] })
  if (process.platform !== 'linux') return
  t.equal(unset.added, size)
  t.equal(set.added, 7)
})

/** Replaces the API: prints its settings and arguments. */
const api = `import { fstatSync } from 'node:fs'
  const { MALLOC_ARENA_MAX: arenas, MALLOC_TRIM_THRESHOLD_: trim, LISTEN_FDS } = process.env
  if (LISTEN_FDS && !fstatSync(3).isSocket()) throw new Error('The socket is closed')
  const started = { pid: process.pid, arenas, trim, args: process.argv.slice(2), options: process.execArgv }
  console.log(JSON.stringify(started))`

t.test(
  'a service starts with the settings of malloc and V8, and remains the same process',
  { skip: process.platform !== 'linux' && 'glibc reads them' },
  async (t) => {
    const folder = await checkout(t)
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'src', 'start', 'main.ts'), api)
    const { NODE_OPTIONS, NODE_COMPILE_CACHE, ...others } = process.env
    const { MALLOC_ARENA_MAX, MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_, LISTEN_FDS, ...env } = others
    const start = async (more: Record<string, string>, fourth: 'pipe' | 'ipc' = 'pipe') => {
      const args = ['--no-deprecation', join(folder, 'src', 'start', 'entry.cjs'), 'api', '--a', 'b']
      const child = spawn(process.execPath, args, {
        env: { ...env, ...more },
        stdio: ['ignore', 'pipe', 'inherit', fourth],
      })
      let printed = ''
      child.stdout?.on('data', (part) => (printed += part))
      const [code] = await once(child, 'close')
      const { pid, ...started } = JSON.parse(printed || '{}')
      return { code, samePid: pid === child.pid, ...started }
    }
    const asGiven = { code: 0, samePid: true, args: ['--a', 'b'], options: ['--no-deprecation'] }
    const all = { ...asGiven, options: ['--max-semi-space-size=16', '--no-deprecation'] }
    t.match(await start({}), { ...all, arenas: '1', trim: '67108864' })
    t.match(await start({ MALLOC_ARENA_MAX: '4' }), { ...all, arenas: '4', trim: '67108864' })
    t.ok(existsSync(join(folder, '.cache', 'compiled')), 'what was read is kept for the next start')
    const own = { NODE_OPTIONS: '--max_semi_space_size=32' }
    t.match(await start(own), { ...asGiven, arenas: '1' }, 'the operator has chosen another size')
    t.match(
      await start({ LISTEN_FDS: '1' }),
      { ...asGiven, arenas: undefined },
      'execve would close the socket',
    )
    t.match(
      await start({}, 'ipc'),
      { ...asGiven, arenas: undefined },
      'and also the channel to a parent process',
    )
  },
)

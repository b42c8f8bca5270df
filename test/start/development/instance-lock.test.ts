import { spawn } from 'node:child_process'
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { acquireInstanceLock } from '../../../src/start/development/instance-lock.ts'

const module = pathToFileURL(
  join(import.meta.dirname, '..', '..', '..', 'src', 'start', 'development', 'instance-lock.ts'),
)

/** A data folder with a lock of `holder`, as a process leaves it. */
async function folderHeldBy(t: Test, holder: object | string): Promise<string> {
  const folder = t.testdir()
  const text =
    typeof holder === 'string' ? holder : JSON.stringify({ id: 'other', since: Date.now(), ...holder })
  await writeFile(join(folder, 'instance.json'), text)
  return folder
}

async function holderOf(folder: string) {
  return JSON.parse(await readFile(join(folder, 'instance.json'), 'utf8'))
}

/** The id of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-v'], { stdio: 'ignore' })
  await new Promise((done) => child.once('exit', done))
  return child.pid!
}

t.test('a second start fails with the URL of the first, until that is released', async (t) => {
  const folder = t.testdir()
  const lock = await acquireInstanceLock(folder)
  await t.rejects(acquireInstanceLock(folder), {
    name: 'InstanceRunning',
    message: /is starting or stopping/,
  })
  await lock.announce('http://127.0.0.1:3000')
  const message = new RegExp(`running at http://127.0.0.1:3000 \\(pid ${process.pid}\\) on .* set DATA_DIR`)
  await t.rejects(acquireInstanceLock(folder), { message })
  await lock.release()
  const next = await acquireInstanceLock(folder)
  await lock.release()
  t.match(await holderOf(folder), { pid: process.pid }, 'a late release does not remove the next lock')
  await next.release()
  t.strictSame(await readdir(folder), [])
})

t.test('the lock of a dead process is taken over', async (t) => {
  const folder = await folderHeldBy(t, { pid: await deadPid(), url: 'http://127.0.0.1:3000' })
  const lock = await acquireInstanceLock(folder)
  t.match(await holderOf(folder), { pid: process.pid })
  await lock.release()
})

t.test('a process that has ended and that its parent does not collect is dead', async (t) => {
  if (process.platform !== 'linux') return t.pass('only Linux shows it')
  const parent = spawn('sh', ['-c', 'cat <&3 & echo $!; exec sleep 1000'], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  t.teardown(() => parent.kill('SIGKILL'))
  const pid = Number(await new Promise((done) => parent.stdout!.once('data', (data) => done(String(data)))))
  const stat = async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]!.split(' ')
  while ((await readFile(`/proc/${parent.pid}/comm`, 'utf8')) !== 'sleep\n') await sleep(10)
  ;(parent.stdio[3] as Writable).end() // `cat` ends, and `sleep` collects no children
  while ((await stat())[0] !== 'Z') await sleep(10)
  const folder = await folderHeldBy(t, { pid, born: (await stat())[19], url: 'http://127.0.0.1:3000' })
  const lock = await acquireInstanceLock(folder)
  t.match(await holderOf(folder), { pid: process.pid })
  await lock.release()
})

t.test('of many processes exactly one takes over the lock of a dead process', async (t) => {
  const folder = await folderHeldBy(t, { pid: await deadPid() })
  const code = `import { acquireInstanceLock } from '${module}'
    await acquireInstanceLock(${JSON.stringify(folder)}).then(() => console.log('mine'), (e) => console.log(e.name))
    setTimeout(() => undefined, 3000)`
  const said = Array.from({ length: 6 }, () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill())
    return new Promise<string>((done) => child.stdout.once('data', (data) => done(String(data).trim())))
  })
  t.strictSame((await Promise.all(said)).sort(), [...Array(5).fill('InstanceRunning'), 'mine'])
})

t.test('a process id that another program has now does not hold the lock', async (t) => {
  if (process.platform === 'linux') {
    const reused = await folderHeldBy(t, { pid: process.pid, born: '1' })
    await t.resolves(acquireInstanceLock(reused))
  }
  const silent = await folderHeldBy(t, { pid: process.ppid, url: 'http://127.0.0.1:1' })
  await t.resolves(acquireInstanceLock(silent))
})

t.test('if the start time of a process is unknown, its address decides, even if it is busy', async (t) => {
  const busy = createServer().listen(0, '127.0.0.1')
  t.teardown(() => busy.closeAllConnections())
  t.teardown(() => busy.close())
  await new Promise((done) => busy.once('listening', done))
  const { port } = busy.address() as { port: number }
  const folder = await folderHeldBy(t, { pid: process.ppid, url: `http://127.0.0.1:${port}` })
  await t.rejects(acquireInstanceLock(folder), { name: 'InstanceRunning' }, 'a time-out counts as an answer')
  busy.on('request', (_, response) => response.end('ok'))
  await t.rejects(acquireInstanceLock(folder), { name: 'InstanceRunning' })
})

t.test('a start that has announced nothing holds the lock for 30 s', async (t) => {
  const young = await folderHeldBy(t, { pid: process.ppid, since: Date.now() - 29_000 })
  await t.rejects(acquireInstanceLock(young), { name: 'InstanceRunning' })
  const old = await folderHeldBy(t, { pid: process.ppid, since: Date.now() - 31_000 })
  await t.resolves(acquireInstanceLock(old))
})

t.test('a lock file that was never written counts for 30 s, then it is taken over', async (t) => {
  const folder = await folderHeldBy(t, '')
  await t.rejects(acquireInstanceLock(folder), { name: 'InstanceRunning' })
  await utimes(join(folder, 'instance.json'), new Date(), new Date(Date.now() - 31_000))
  await (await acquireInstanceLock(folder)).release()
})

t.test('an interrupted takeover does not block the next', async (t) => {
  const folder = await folderHeldBy(t, { pid: await deadPid() })
  const guard = join(folder, 'instance.json.takeover')
  await writeFile(guard, '')
  await utimes(guard, new Date(), new Date(Date.now() - 11_000))
  await (await acquireInstanceLock(folder)).release()
  t.strictSame(await readdir(folder), [])
})

import { type ChildProcess, spawn } from 'node:child_process'
import { type Account, serverEnvironment } from './postgres-binaries.ts'

// Waits on a pipe that only we hold open. However we end, kill -9 included, the kernel closes it, and the server is
// shut down: fast, and after 10 s so that it recovers at its next start.
const script = `
  read -r _
  kill -INT "$1" 2>/dev/null || exit 0
  n=0
  while [ $n -lt 10 ] && kill -0 "$1" 2>/dev/null; do sleep 1; n=$((n + 1)); done
  kill -QUIT "$1" 2>/dev/null`

/**
 * Ends the server with this process, whatever ends the process; nothing that was committed is lost. A shell of its own
 * does it, in the account of the server. On Windows, which has neither, the server stays and the next start replaces it.
 */
export function endWithUs(server: ChildProcess, account: Account): void {
  if (process.platform === 'win32' || server.pid === undefined) return
  const watcher = spawn('/bin/sh', ['-c', script, 'sh', String(server.pid)], {
    ...account,
    cwd: '/',
    env: serverEnvironment,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.once('error', () => undefined) // no shell: the next start replaces the server
  watcher.stdin.on('error', () => undefined)
  watcher.unref()
  ;(watcher.stdin as unknown as { unref(): void }).unref()
  server.once('exit', () => watcher.kill('SIGKILL')) // its id may soon be that of another process
}

import { type ChildProcess, spawn } from 'node:child_process'
import { type Account, serverEnvironment } from './postgres-binaries.ts'

// Reads from a pipe that only this process holds open. When this process ends, even by kill -9, the kernel closes the pipe
// and the script shuts the server down: SIGINT (fast), and after 10 s SIGQUIT, which makes the next start recover.
const script = `
  read -r _
  kill -INT "$1" 2>/dev/null || exit 0
  n=0
  while [ $n -lt 10 ] && kill -0 "$1" 2>/dev/null; do sleep 1; n=$((n + 1)); done
  kill -QUIT "$1" 2>/dev/null`

/**
 * Stops the server when this process ends for any reason. Committed data is not lost. A separate shell does this, under
 * the account of the server. Windows has neither shell nor accounts: there the server stays until the next start.
 */
export function stopWithThisProcess(server: ChildProcess, account: Account): void {
  if (process.platform === 'win32' || server.pid === undefined) return
  const watcher = spawn('/bin/sh', ['-c', script, 'sh', String(server.pid)], {
    ...account,
    cwd: '/',
    env: serverEnvironment,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.once('error', () => undefined) // without a shell the next start replaces the server
  watcher.stdin.on('error', () => undefined)
  watcher.unref()
  ;(watcher.stdin as unknown as { unref(): void }).unref()
  server.once('exit', () => watcher.kill('SIGKILL')) // another process could soon get the pid of the server
}

import type { IncomingMessage, Server } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** ms without a request. What a busy machine starts late, the second one meets. */
const idleFor = [1_000, 10_000]
const healthChecks = new Set(['/healthz', '/readyz'])

/**
 * Calls {@link releaseStartMemory} when no request but health checks has come to `server` for a second, and once more after ten.
 * A process that always has requests uses that memory, and must not stop for it.
 */
export function releaseStartMemoryWhenIdle(server: Server): void {
  for (const ms of idleFor) {
    const timer = setTimeout(() => {
      server.off('request', later)
      releaseStartMemory()
    }, ms).unref()
    const later = ({ url = '' }: IncomingMessage) => {
      if (!healthChecks.has(url)) timer.refresh()
    }
    server.on('request', later)
  }
}

/**
 * Gives the memory that only the start needed back to the operating system: about 50 MB. Takes about 0.15 s, in which
 * nothing else runs.
 */
export function releaseStartMemory(): void {
  const freed = Array.from({ length: 3 }, () => Buffer.allocUnsafeSlow(untouched))
  freed.length = 0
  // The start fills V8's young generation, whose pages an idle process never returns. Only this collection does.
  setFlagsFromString('--expose-gc')
  const collect: NodeJS.GCFunction = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' } as NodeJS.GCOptions)
}

// glibc returns the free memory at the end of its heap when it exceeds MALLOC_TRIM_THRESHOLD_, 64 MiB (src/start/entry.cjs).
// The start leaves 20 MB there. Three buffers below MALLOC_MMAP_THRESHOLD_ exceed it when they are freed; they are never
// written, so they take no memory themselves.
const untouched = 28 * 1024 * 1024

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Preloaded into each process of a chaos run, with --expose-gc. With CHAOS_HEAP_FOLDER it notes once a minute what it holds after a collection, in MB.
// Resident memory alone does not show a leak: it grows until a collection is worth its time.

const folder = process.env.CHAOS_HEAP_FOLDER
const megabyte = 2 ** 20

const note = () => {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  writeFileSync(join(folder!, `${process.pid}.heap`), String((heapUsed + external) / megabyte))
}

if (folder) {
  setTimeout(note, 10_000).unref()
  setInterval(note, 60_000).unref()
}

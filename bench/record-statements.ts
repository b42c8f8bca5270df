import type { Statement } from '../src/database/executor/flush.ts'
import { flushes } from '../src/database/executor/pool.ts'

// Preloaded by an API process (`--import`) that bench/recordings.ts starts. At each message it answers with the flushes to
// Postgres since the message before.

let recorded: Statement[][] = []
flushes.subscribe((statements) => recorded.push([...(statements as Statement[])]))
process.on('message', () => {
  process.send?.(recorded)
  recorded = []
})
process.channel?.unref()

// The one JavaScript file: an old Node must be able to run it, to hear what to do. CommonJS, because the loader
// of ES modules may start libuv's thread pool, and the pool reads UV_THREADPOOL_SIZE once.
const { existsSync } = require('node:fs')
const { availableParallelism } = require('node:os')
const { join } = require('node:path')
const files = {
  start: './cli/start.ts',
  api: './main.ts',
  worker: '../workers/main.ts',
  cli: './cli/cli.ts',
  tour: './cli/tour.ts',
  bench: '../bench/main.ts',
  test: './cli/test.ts',
}
const [name = '', ...rest] = process.argv.slice(2)
const [major, minor] = process.versions.node.split('.').map(Number)
const has = (path) => existsSync(join(__dirname, '..', 'node_modules', path))
const again = rest.length > 0 ? `npm run ${name} -- ${rest.join(' ')}` : `npm run ${name}`

function missing() {
  if (!Object.hasOwn(files, name))
    return `"${name}" is none of ${Object.keys(files).join(', ')}. Run: npm start`
  if (!has('')) return 'The dependencies are not installed. Run: npm ci'
  if (major > 24 || (major === 24 && minor >= 15)) return undefined
  const command = has('node/bin/node') ? again : 'npm rebuild node --ignore-scripts=false'
  return `This is Node ${process.versions.node}, and 24.15 is the oldest that will do. Run: ${command}`
}

const why = missing()
if (why) {
  console.error(why)
  process.exit(1)
}
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 3)
process.argv.splice(1, 2, join(__dirname, files[name]))
import(files[name])

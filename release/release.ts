import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeRelease, ReleaseRefused } from './make-release.ts'

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({
  options: {
    checked: { type: 'string' },
    out: { type: 'string', default: join(root, 'dist') },
    'without-image': { type: 'boolean', default: false },
  },
})
try {
  await makeRelease({
    root,
    out: resolve(values.out),
    checked: values.checked,
    image: !values['without-image'],
    print: console.log,
  })
} catch (error) {
  if (!(error instanceof ReleaseRefused)) throw error
  console.error(`Not released:\n${error.message}`)
  process.exitCode = 1
}

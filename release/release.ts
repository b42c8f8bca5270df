import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeRelease, ReleaseRefused } from './make-release.ts'

const { values } = parseArgs({ options: { checked: { type: 'string' } } })
try {
  const root = join(import.meta.dirname, '..')
  await makeRelease({ root, checked: values.checked, now: new Date(), print: console.log })
} catch (error) {
  if (!(error instanceof ReleaseRefused)) throw error
  console.error(`Not released:\n${error.message}`)
  process.exitCode = 1
}

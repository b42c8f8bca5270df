import { join, resolve } from 'node:path'
import { anyText, defaulted, flag, optional } from '../../src/cli/options.ts'
import { scriptOptions } from '../../src/cli/script-options.ts'
import { makeRelease, ReleaseRefused } from './make-release.ts'

const root = join(import.meta.dirname, '..', '..')
const given = scriptOptions('release', {
  checked: optional('<commit>', 'The commit that CI has passed'),
  out: defaulted('<folder>', 'Where the files are written', anyText, join(root, 'dist')),
  'without-image': flag('Without the image'),
})
try {
  await makeRelease({
    root,
    out: resolve(given.out),
    checked: given.checked,
    image: !given['without-image'],
    print: console.log,
  })
} catch (error) {
  if (!(error instanceof ReleaseRefused)) throw error
  console.error(`Not released:\n${error.message}`)
  process.exitCode = 1
}

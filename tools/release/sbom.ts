import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { optional } from '../../src/cli/options.ts'
import { scriptOptions } from '../../src/cli/script-options.ts'
import { buildSbom } from './build-sbom.ts'

// npm run sbom: prints it, or writes it to --out. Its time is SOURCE_DATE_EPOCH, else that of the newest commit.

const root = join(import.meta.dirname, '..', '..')
const { out } = scriptOptions('sbom', { out: optional('<file>', 'Where to write it') })
const seconds =
  process.env.SOURCE_DATE_EPOCH || execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root })
const text = `${JSON.stringify(await buildSbom(root, new Date(Number(seconds) * 1000)), null, 2)}\n`
if (out) writeFileSync(out, text)
else process.stdout.write(text)

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Bom, buildSbom } from '../../../tools/release/build-sbom.ts'
import { type Lock, packageName } from '../../../tools/release/find-lock-problems.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const lock: Lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const hexOf = (integrity = '') => Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')

t.test(
  'the SBOM has every production dependency, with version, hash and licence, and no other',
  async (t) => {
    const env = { ...process.env, SOURCE_DATE_EPOCH: '1700000000' }
    const written = execFileSync(process.execPath, [join(root, 'tools', 'release', 'sbom.ts')], {
      env,
      encoding: 'utf8',
    })
    const bom: Bom = JSON.parse(written)
    t.match(bom, {
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      metadata: { component: { name: 'bailiwick' } },
    })

    const described = bom.components.map(({ purl, hashes, licenses }) =>
      [purl, hashes?.[0]?.content, licenses ? 'licensed' : ''].join(' '),
    )
    const { packages } = JSON.parse(readFileSync(join(root, 'packages/console/bundle/index.json'), 'utf8'))
    t.ok(packages.includes('node_modules/react-dom'), 'also those in the bundle of the console')
    const entries = Object.entries(lock.packages).filter(
      ([path, entry]) =>
        path.startsWith('node_modules/') && !entry.link && (!entry.dev || packages.includes(path)),
    )
    const expected = entries.map(([path, entry]) => {
      const name = packageName(path, entry).replace('@', '%40')
      return `pkg:npm/${name}@${entry.version} ${hexOf(entry.integrity)} licensed`
    })
    t.ok(expected.length > 200)
    const npm = described.filter((line) => line.startsWith('pkg:npm/'))
    t.same([...new Set(npm)].sort(), [...new Set(expected)].sort())

    const bundle = readFileSync(join(root, 'policies', 'bundle.tar.gz'))
    t.match(bom.components.find(({ name }) => name === 'policies/bundle.tar.gz')?.hashes, [
      { alg: 'SHA-256', content: createHash('sha256').update(bundle).digest('hex') },
    ])

    const again = await buildSbom(root, new Date(1_700_000_000_000))
    t.equal(written, `${JSON.stringify(again, null, 2)}\n`, 'the same bytes each time')
  },
)

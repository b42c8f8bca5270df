import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildSbom } from './build-sbom.ts'

export interface ReleaseOptions {
  /** the checkout that is released */
  root: string
  /** the commit on which `CI_FULL=true .ci/run` passed; without it, it is run here */
  checked?: string
  now: Date
  print: (line: string) => void
}

/** What keeps this checkout from being released: a sentence for each reason, with what to do. */
export class ReleaseRefused extends Error {}

const branch = 'main'
const exec = promisify(execFile)

/**
 * Writes the source archive, the SBOM and their checksums to dist/ and makes the annotated tag `v<version>`. Pushes
 * nothing. Throws `ReleaseRefused` before it has changed anything.
 */
export async function makeRelease({ root, checked, now, print }: ReleaseOptions): Promise<void> {
  const git = async (...args: string[]) => (await exec('git', args, { cwd: root })).stdout.trimEnd()
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const changelog = await readFile(join(root, 'CHANGELOG.md'), 'utf8')
  const commit = await git('rev-parse', 'HEAD')
  const reasons = [
    ...(await checkoutReasons(git, `v${version}`)),
    ...(await versionReasons(root, version)),
    ...changelogReasons(changelog, version, now),
    ...(checked === undefined ? [] : await checkedReasons(git, checked, commit)),
  ]
  if (reasons.length === 0 && checked === undefined && !(await passesEveryCheck(root)))
    reasons.push('CI_FULL=true .ci/run failed: see above')
  if (reasons.length === 0 && checked === undefined)
    reasons.push(...(await checkoutReasons(git, `v${version}`)))
  if (reasons.length > 0) throw new ReleaseRefused(reasons.join('\n'))

  const files = await writeFiles(
    root,
    version,
    new Date(Number(await git('log', '-1', '--format=%ct')) * 1000),
  )
  // Verbatim: git would take headings of the changelog for comments.
  const message = `Bailiwick ${version}\n\n${sectionOf(changelog, version)?.text}`
  await git('tag', '--annotate', '--cleanup=verbatim', '--message', message, `v${version}`)
  print(
    `Tag v${version} is on ${commit.slice(0, 12)}. Nothing was pushed. dist/ has, to be attached to the release:`,
  )
  for (const file of files) print(`  ${file}`)
  print(`Push with: git push --atomic origin ${branch} v${version}`)
}

type Git = (...args: string[]) => Promise<string>

async function checkoutReasons(git: Git, tag: string): Promise<string[]> {
  const reasons: string[] = []
  const changes = await git('status', '--porcelain')
  if (changes) reasons.push(`Files have changed: commit them or take them back\n${changes}`)
  const current = await git('branch', '--show-current')
  if (current !== branch) reasons.push(`This is the branch "${current}": switch to ${branch}`)
  if (await git('tag', '--list', tag))
    reasons.push(`The tag ${tag} exists: write the next version into package.json`)
  return reasons
}

async function versionReasons(root: string, version: string): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const locked = [lock.version, lock.packages[''].version]
  if (locked.every((other) => other === version)) return []
  return [
    `package.json has ${version}, package-lock.json ${locked.join(' and ')}: run npm install --package-lock-only`,
  ]
}

function changelogReasons(changelog: string, version: string, now: Date): string[] {
  const section = sectionOf(changelog, version)
  const today = now.toISOString().slice(0, 10)
  if (!section) return [`CHANGELOG.md has no dated heading for it: write "## [${version}] - ${today}"`]
  if (section.date > today)
    return [`CHANGELOG.md dates ${version} ${section.date}, which is not yet: write ${today}`]
  if (!section.text) return [`CHANGELOG.md says nothing below "## [${version}] - ${section.date}"`]
  return []
}

/** The part of a changelog about a version (https://keepachangelog.com), up to the next one. */
function sectionOf(changelog: string, version: string): { date: string; text: string } | undefined {
  for (const part of changelog.split(/^## /m)) {
    const [, named, date] = /^\[(.+)\] - (\d{4}-\d\d-\d\d)$/m.exec(part.split('\n')[0] ?? '') ?? []
    if (named === version && date) return { date, text: part.slice(part.indexOf('\n')).trim() }
  }
  return undefined
}

async function checkedReasons(git: Git, checked: string, commit: string): Promise<string[]> {
  const found = await git(
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    `${checked}^{commit}`,
  ).catch(() => '')
  return found === commit
    ? []
    : [`--checked ${checked} is not ${commit.slice(0, 12)}, which would be released`]
}

async function passesEveryCheck(root: string): Promise<boolean> {
  const check = spawn('bash', ['.ci/run'], {
    cwd: root,
    env: { ...process.env, CI_FULL: 'true' },
    stdio: 'inherit',
  })
  return new Promise((resolve, reject) =>
    check.once('error', reject).once('exit', (code) => resolve(code === 0)),
  )
}

/** The same commit gives the same files. */
async function writeFiles(root: string, version: string, at: Date): Promise<string[]> {
  const dist = join(root, 'dist')
  const name = `bailiwick-${version}`
  const [archive, sbom] = [`${name}.tar.gz`, `${name}.cdx.json`]
  await rm(dist, { recursive: true, force: true })
  await mkdir(dist)
  await exec('git', ['archive', `--prefix=${name}/`, `--output=${join(dist, archive)}`, 'HEAD'], {
    cwd: root,
  })
  await writeFile(join(dist, sbom), `${JSON.stringify(await buildSbom(root, at), null, 2)}\n`)
  const sums = await Promise.all(
    [archive, sbom].map(async (file) => `${await sha256(join(dist, file))}  ${file}\n`),
  )
  await writeFile(join(dist, 'SHA256SUMS'), sums.join(''))
  return [archive, sbom, 'SHA256SUMS'].map((file) => `dist/${file}`)
}

const sha256 = async (file: string) =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex')

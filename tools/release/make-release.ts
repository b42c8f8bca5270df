import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { buildConsole } from '../console/bundle.ts'
import { buildClient, packClient } from './build-client.ts'
import { buildImage } from './build-image.ts'
import { buildSbom } from './build-sbom.ts'
import { notesOf, sectionsOf } from './changelog.ts'
import { branch, findReleaseProblems, type Git, type Release } from './find-release-problems.ts'

export interface ReleaseOptions {
  /** the checkout that is released */
  root: string
  /** the folder for the files: dist/ of the checkout, which is emptied, or one that is new or empty */
  out: string
  /** the commit on which `CI_FULL=true .ci/run` passed; without it, it is run here */
  checked?: string | undefined
  /** whether to build the image, for which a docker daemon has to run */
  image: boolean
  print: (line: string) => void
}

/** What keeps this checkout from being released: a sentence for each reason, with what to do. */
export class ReleaseRefused extends Error {}

const exec = promisify(execFile)

/**
 * Writes the files of a release and makes the annotated tag `v<version>`, unless the commit has it. Pushes and publishes
 * nothing. Throws `ReleaseRefused` before it has changed anything. The same commit gives the same files, except for
 * the image.
 */
export async function makeRelease({ root, print, ...wish }: ReleaseOptions): Promise<void> {
  const git: Git = async (...args) => (await exec('git', args, { cwd: root })).stdout.trimEnd()
  const release = await readRelease(root, git)
  const problems = await findReleaseProblems(git, release, wish)
  if (problems.length === 0 && wish.checked === undefined) {
    if (!(await passesEveryCheck(root))) problems.push('CI_FULL=true .ci/run failed: see above')
    const now = await readRelease(root, git)
    problems.push(...(await findReleaseProblems(git, now, { ...wish, checked: release.commit })))
  }
  if (problems.length > 0) throw new ReleaseRefused(problems.join('\n'))

  const { version, commit, sections, repository } = release
  const notes = notesOf(sections.find((section) => section.version === version)!)
  const files = await writeFiles(release, notes, wish)
  const tag = `v${version}`
  // Verbatim: git would take headings of the changelog for comments.
  const message = ['--cleanup=verbatim', '--message', `Bailiwick ${version}\n\n${notes}`]
  if (!(await git('tag', '--list', tag))) await git('tag', '--annotate', ...message, tag, commit)
  print(`The tag ${tag} is on ${commit.slice(0, 12)}. Nothing was pushed or published. Made:`)
  for (const file of files) print(`  ${relative('', join(wish.out, file))}`)
  if (!wish.image) print('The image was not built.')
  if (!repository)
    print('package.json has no repository, without which no registry takes the provenance of the client.')
  print(`Push with: git push --atomic origin ${branch} ${tag}`)
}

async function readRelease(root: string, git: Git): Promise<Release & { repository?: object }> {
  const { version, repository } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const sections = sectionsOf(await readFile(join(root, 'CHANGELOG.md'), 'utf8'))
  const [commit = '', seconds] = (await git('log', '-1', '--format=%H %ct')).split(' ')
  return { root, version, commit, at: new Date(Number(seconds) * 1000), sections, repository }
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

/** The names of the files that it wrote into `out`, the last one with the checksums of all others. */
async function writeFiles(
  { root, version, commit, at }: Release,
  notes: string,
  { out, image }: Pick<ReleaseOptions, 'out' | 'image'>,
): Promise<string[]> {
  if (out === join(root, 'dist')) await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  const name = `bailiwick-${version}`
  const [archive, sbom, text] = [`${name}.tar.gz`, `${name}.cdx.json`, `${name}.notes.md`]
  await writeArchive(root, name, commit, join(out, archive))
  await writeFile(join(out, sbom), `${JSON.stringify(await buildSbom(root, at), null, 2)}\n`)
  await writeFile(join(out, text), `# Bailiwick ${version}\n\nCommit ${commit}\n\n${notes}\n`)
  const files = [archive, await writeClient(root, out), sbom, text]
  if (image) files.push(`${name}.image.tar.gz`)
  if (image) await buildImage(root, version, commit, join(out, `${name}.image.tar.gz`))
  const sums = await Promise.all(files.map(async (file) => `${await sha256(join(out, file))}  ${file}\n`))
  await writeFile(join(out, 'SHA256SUMS'), sums.join(''))
  return [...files, 'SHA256SUMS']
}

/** What git has of a commit, and the pages of the console, which it ignores: what is unpacked runs without building. */
async function writeArchive(root: string, name: string, commit: string, file: string): Promise<void> {
  await buildConsole()
  const bundle = 'packages/console/bundle'
  const built = (await readdir(join(root, bundle))).sort().map((one) => `--add-file=${bundle}/${one}`)
  const inBundle = [`--prefix=${name}/${bundle}/`, ...built]
  await exec('git', ['archive', ...inBundle, `--prefix=${name}/`, `--output=${file}`, commit], { cwd: root })
}

async function writeClient(root: string, folder: string): Promise<string> {
  const built = await mkdtemp(join(tmpdir(), 'bailiwick-client-'))
  try {
    await buildClient(root, built)
    return basename(await packClient(built, folder))
  } finally {
    await rm(built, { recursive: true })
  }
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasDocker } from './build-image.ts'
import type { Section } from './changelog.ts'

export type Git = (...args: string[]) => Promise<string>

/** What is released. */
export interface Release {
  /** the checkout */
  root: string
  version: string
  commit: string
  /** when it was committed */
  at: Date
  /** of the changelog */
  sections: Section[]
}

/** How: as `ReleaseOptions` of make-release.ts. */
interface Wish {
  out: string
  checked?: string | undefined
  image: boolean
}

export const branch = 'main'

/** What keeps this from being released: a sentence for each reason, with what to do. Runs no check of the checkout. */
export async function findReleaseProblems(git: Git, release: Release, wish: Wish): Promise<string[]> {
  const { root, version, commit, at, sections } = release
  return [
    ...(await findCheckoutProblems(git, `v${version}`, commit)),
    ...(await findVersionProblems(root, version)),
    ...findChangelogProblems(sections, version, at.toISOString().slice(0, 10)),
    ...(await findPlaceProblems(root, wish.out, wish.image)),
    ...(wish.checked === undefined ? [] : await findCheckedProblems(git, wish.checked, commit)),
  ]
}

/** The changes, the branch, and a tag of another commit. */
async function findCheckoutProblems(git: Git, tag: string, commit: string): Promise<string[]> {
  const problems: string[] = []
  const changes = await git('status', '--porcelain')
  if (changes) problems.push(`Files have changed: commit them or take them back\n${changes}`)
  const current = await git('branch', '--show-current')
  if (current !== branch) problems.push(`This is the branch "${current}": switch to ${branch}`)
  const tagged = await commitOf(git, `refs/tags/${tag}`)
  if (tagged && tagged !== commit)
    problems.push(`The tag ${tag} is on ${tagged.slice(0, 12)}: write the next version into package.json`)
  return problems
}

/** `--checked` has to name the commit that is released. */
async function findCheckedProblems(git: Git, checked: string, commit: string): Promise<string[]> {
  if ((await commitOf(git, checked)) === commit) return []
  return [`--checked ${checked} is not ${commit.slice(0, 12)}, which would be released`]
}

const commitOf = (git: Git, name: string): Promise<string> =>
  git('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`).catch(() => '')

/** Versions of package-lock.json that are not that of package.json. All others are read from package.json. */
async function findVersionProblems(root: string, version: string): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const locked = [lock.version, lock.packages[''].version]
  if (locked.every((other) => other === version)) return []
  return [
    `package.json has ${version}, package-lock.json ${locked.join(' and ')}: run npm install --package-lock-only`,
  ]
}

/** What the changelog lacks for a version that is released by a commit of the day `today`. */
function findChangelogProblems(sections: Section[], version: string, today: string): string[] {
  const problems: string[] = []
  const heading = `## [${version}] - ${today}`
  const unreleased = sections.find((section) => section.version === 'Unreleased')
  if (unreleased?.text)
    problems.push(`CHANGELOG.md has changes below "Unreleased": move them below "${heading}"`)
  const section = sections.find((section) => section.version === version)
  if (!section?.date)
    return [...problems, `CHANGELOG.md has no dated heading for ${version}: write "${heading}"`]
  if (section.commit)
    return [...problems, `${version} was released: write the next version into package.json`]
  if (section.date !== today)
    problems.push(`CHANGELOG.md dates ${version} ${section.date}, but its commit is of ${today} (UTC)`)
  if (!section.text) problems.push(`CHANGELOG.md says nothing below the heading of ${version}`)
  return problems
}

/** What keeps the files from being made on this machine, and written to `out`. */
async function findPlaceProblems(root: string, out: string, image: boolean): Promise<string[]> {
  const problems: string[] = []
  const files = await readdir(out).catch(() => [])
  if (files.length > 0 && out !== join(root, 'dist'))
    problems.push(`${out} has files: name a folder that is new or empty with --out`)
  if (image && !(await hasDocker()))
    problems.push('No docker daemon answers, so the image cannot be built: start one, or say --without-image')
  return problems
}

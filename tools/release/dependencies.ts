import { existsSync, readFileSync } from 'node:fs'
import { scriptOptions } from '../../src/cli/script-options.ts'
import { findLockProblems, findNpmrcProblems, type Manifest } from './find-lock-problems.ts'
import { readAdvisories, readOutdated } from './registry-answers.ts'

// npm run dependencies:check: exits with 1 where package.json, package-lock.json or .npmrc have what they must not, or an advisory
// is high or critical. Without an answer of the registry it says so and goes by the files alone.

scriptOptions('dependencies:check', {})
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))

const [advisories, outdated] = await Promise.all([readAdvisories(), readOutdated()])
const lock = read('package-lock.json')
const npmrc = existsSync('.npmrc') ? readFileSync('.npmrc', 'utf8') : ''
const manifest: Manifest = read('package.json')
const workspaces = (manifest.workspaces ?? []).map((folder) => read(`${folder}/package.json`))
const problems = [...findLockProblems(manifest, lock, workspaces), ...findNpmrcProblems(npmrc)]

print(
  `package-lock.json: ${Object.keys(lock.packages).length - 1} packages, ${problems.length} problems`,
  problems,
)
if ('unavailable' in advisories) {
  print(
    `Advisories: not available here (npm audit: ${advisories.unavailable}); the workflow on GitHub asks for them`,
  )
} else {
  const { problems: severe, others } = advisories
  print(`Advisories: ${severe.length} high or critical, ${others} of less severity`, severe)
  problems.push(...severe)
}
print(
  outdated
    ? `Direct dependencies not at the newest version: ${outdated.length}`
    : 'Newest versions: not available here (npm outdated had no answer)',
  outdated,
)
process.exitCode = problems.length === 0 ? 0 : 1

function print(line: string, details: string[] = []): void {
  console.log([line, ...details.map((detail) => `  ${detail}`)].join('\n'))
}

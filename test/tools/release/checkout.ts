import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { Test } from 'tap'

export const root = join(import.meta.dirname, '..', '..', '..')
export const day = '2026-12-01'
export const changelog = `# Changelog

## [Unreleased]

## [9.1.0] - ${day}

### Added

- A wheel

### Before you upgrade

- Buy an axle

## [9.0.0] - 2026-11-01, commit ${'0'.repeat(40)}

- The cart
`

/** A docker whose daemon is away, or that builds: it keeps the context of a build, and saves an image of one line. */
const docker = (runs: boolean) => `#!/bin/sh
printf '%s\\n' "$*" >> "$(dirname "$0")/calls"
case $1 in
  version) ${runs ? 'exit 0' : 'echo no daemon >&2; exit 1'} ;;
  build) cat > "$(dirname "$0")/context.tar" ;;
  save) echo image ;;
esac
`

const at = `${day}T12:00:00Z`
const author = { GIT_AUTHOR_NAME: 'Test', GIT_AUTHOR_EMAIL: 'test@example.com', GIT_AUTHOR_DATE: at }
const committer = {
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
  GIT_COMMITTER_DATE: at,
}
const gitIn = (folder: string, ...args: string[]) => {
  const env = { ...process.env, ...author, ...committer }
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim()
}
const editIn = (folder: string, path: string, from: string | RegExp, to: string) =>
  writeFileSync(join(folder, path), readFileSync(join(folder, path), 'utf8').replace(from, to))

/** This checkout as it is, on main, in one commit of `day`; its own check succeeds. */
export function originOf(t: Test): string {
  const origin = `${t.testdir({ origin: {} })}/origin`
  for (const path of gitIn(root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split(
    '\0',
  )) {
    if (!path || !existsSync(join(root, path))) continue
    mkdirSync(join(origin, dirname(path)), { recursive: true })
    cpSync(join(root, path), join(origin, path))
  }
  writeFileSync(join(origin, 'CHANGELOG.md'), changelog)
  writeFileSync(join(origin, '.ci/run'), 'test "$CI_FULL" = true && test ! -e broken\n')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const ours = new RegExp(`("name": "bailiwick",\\s+"version": )"${version}"`, 'g')
  for (const path of ['package.json', 'package-lock.json']) editIn(origin, path, ours, '$1"9.1.0"')
  gitIn(origin, 'init', '--quiet', '--initial-branch=main')
  gitIn(origin, 'add', '.')
  gitIn(origin, 'commit', '--quiet', '--message', 'All')
  return origin
}

/** A clone of that checkout, with or without a docker daemon. */
export function cloneOf(origin: string, t: Test, { daemon = false } = {}) {
  const folder = t.testdir({ bin: {} })
  const [bin, checkout] = [join(folder, 'bin'), join(folder, 'checkout')]
  gitIn(folder, 'clone', '--quiet', origin, checkout)
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  writeFileSync(join(bin, 'docker'), docker(daemon), { mode: 0o755 })
  const write = (path: string, text: string) => writeFileSync(join(checkout, path), text)
  const edit = (path: string, from: string | RegExp, to: string) => editIn(checkout, path, from, to)
  const git = (...args: string[]) => gitIn(checkout, ...args)
  const commit = () => {
    git('add', '.')
    git('commit', '--quiet', '--message', 'More')
    return git('rev-parse', 'HEAD')
  }
  const env = {
    ...process.env,
    ...committer,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
  }
  const releaseWith = (umask: string, ...args: string[]) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const line = [
        '-c',
        `umask ${umask}; exec "$0" src/start/entry.cjs release "$@"`,
        process.execPath,
        ...args,
      ]
      execFile('sh', line, { cwd: checkout, env }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
      )
    })
  const release = (...args: string[]) => releaseWith('022', ...args)
  return {
    folder,
    bin,
    checkout,
    write,
    edit,
    git,
    commit,
    first: git('rev-parse', 'HEAD'),
    release,
    releaseWith,
  }
}

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'

const exec = promisify(execFile)

/** Whether a docker daemon answers. */
export const hasDocker = (): Promise<boolean> =>
  exec('docker', ['version']).then(
    () => true,
    () => false,
  )

/**
 * Builds the image `bailiwick:<version>` of the commit that is checked out, for the platform of this machine, and saves it to
 * `file`, compressed. The settings NODE_IMAGE and GO_IMAGE name other base images, with their digests.
 */
export async function buildImage(root: string, version: string, commit: string, file: string): Promise<void> {
  const image = `bailiwick:${version}`
  const labels = { version, revision: commit, licenses: 'Apache-2.0' }
  const args = [
    ...['--load', '--tag', image, '--build-arg', 'NODE_IMAGE', '--build-arg', 'GO_IMAGE'],
    ...Object.entries(labels).flatMap(([name, value]) => [
      '--label',
      `org.opencontainers.image.${name}=${value}`,
    ]),
  ]
  // What git has, not what lies in the folder: a file that git ignores must not get into an image.
  const sources = spawn('git', ['archive', commit], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const build = spawn('docker', ['build', ...args, '-'], { stdio: ['pipe', 'inherit', 'inherit'] })
  await Promise.all([pipeline(sources.stdout, build.stdin), succeeds(sources), succeeds(build)])
  const save = spawn('docker', ['save', image], { stdio: ['ignore', 'pipe', 'inherit'] })
  await Promise.all([pipeline(save.stdout, createGzip(), createWriteStream(file)), succeeds(save)])
}

async function succeeds(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${child.spawnargs.join(' ')} ended with ${code}`)
}

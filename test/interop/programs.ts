import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'

const exec = promisify(execFile)
const apps = join(import.meta.dirname, 'apps')
/** What is installed here stays for the next run; nothing of it is in package.json. */
const cache = join(import.meta.dirname, '..', '..', '.cache', 'interop')

const npmPackages = [
  '@auth/core@0.41.3',
  'express@5',
  'express-openid-connect@3.4.0',
  'express-session@1.19.0',
  'next-auth@4.24.15',
  'oauth4webapi@3.8.8',
  'oidc-client-ts@3.5.0',
  'openid-client@6.9.0',
  'passport@0.7.0',
  'passport-openidconnect@0.1.2',
]
const nextPackages = [
  '@types/node@24',
  '@types/react@19',
  'next@16.4.6',
  'next-auth@5.0.0-beta.30',
  'react@19',
  'react-dom@19',
  'typescript@5',
]
// next-auth 4 names a later @auth/core as an optional peer; nothing here needs it.
const quietly = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--legacy-peer-deps']
const pythonPackages = [
  'Authlib==1.9.10',
  'Django==5.2.19',
  'Flask==3.1.3',
  'mozilla-django-oidc==5.0.2',
  'requests',
  'scim2-client[httpx2]==0.13.2',
  'scim2-tester==0.5.2',
]
const apacheModules = '/usr/lib/apache2/modules'

/** Each installs what its applications need, and gives the folder or the file to run; it throws where that cannot be. */
export const install = {
  npm: atFirst(async () => {
    const folder = join(cache, 'npm')
    await mkdir(folder, { recursive: true })
    if (!existsSync(join(folder, 'node_modules/passport-openidconnect')))
      await exec('npm', ['install', '--prefix', folder, ...quietly, ...npmPackages], { cwd: folder })
    await cp(apps, folder, { recursive: true, filter: (path) => !path.endsWith('.py') })
    return folder
  }),
  /** A Next application without the files that the console writes; `next build` runs in its folder. */
  next: atFirst(async () => {
    const folder = join(cache, 'next')
    await cp(join(apps, 'next'), folder, { recursive: true })
    if (!existsSync(join(folder, 'node_modules/next-auth')))
      await exec('npm', ['install', '--prefix', folder, ...quietly, ...nextPackages], { cwd: folder })
    return folder
  }),
  python: atFirst(async () => {
    const folder = join(cache, 'python')
    const pip = join(folder, 'bin/pip')
    if (!existsSync(pip)) await exec('python3', ['-m', 'venv', folder])
    await exec(pip, ['install', '--quiet', '--disable-pip-version-check', ...pythonPackages])
    return join(folder, 'bin/python')
  }),
  go: atFirst(async () => {
    const program = join(cache, 'go-app')
    await exec('go', ['build', '-o', program, '.'], { cwd: join(apps, 'go') })
    return program
  }),
  oauth2Proxy: atFirst(async () => {
    const env = { ...process.env, GOBIN: cache }
    await exec('go', ['install', 'github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6'], { env })
    return join(cache, 'oauth2-proxy')
  }),
  spring: atFirst(async () => {
    const folder = join(cache, 'spring')
    await cp(join(apps, 'spring'), folder, { recursive: true })
    await exec('mvn', ['-q', '-B', 'package'], { cwd: folder })
    return join(folder, 'target/app-1.jar')
  }),
  keycloak: atFirst(async () => {
    const goals = [
      'dependency:unpack',
      '-Dmdep.overWriteReleases=true',
      '-Dartifact=org.keycloak:keycloak-quarkus-dist:26.7.3:zip',
    ]
    const folder = join(cache, 'keycloak')
    if (!existsSync(folder)) await exec('mvn', ['-q', '-B', ...goals, `-DoutputDirectory=${folder}`])
    return join(folder, 'keycloak-26.7.3')
  }),
  apache: atFirst(async () => {
    const module = join(apacheModules, 'mod_auth_openidc.so')
    if (!existsSync(module)) throw new Error('libapache2-mod-auth-openidc is not installed')
    return apacheModules
  }),
}

/** Runs once, for all tests of the process. */
function atFirst<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

/** A program that answers nothing for this long (ms) hangs: on a busy machine, Keycloak takes minutes. */
const hangsAfter = 600_000

/** Starts a program that answers at a port, and ends it with the test. What it said is in the error, if it ends before. */
export async function startProgram(
  t: Test,
  [command = '', ...args]: string[],
  port: number,
  { env, cwd = cache }: { env: Record<string, string>; cwd?: string },
): Promise<string> {
  const program = spawn(command, args, { cwd, env: { ...process.env, ...env, PORT: String(port) } })
  let said = ''
  for (const stream of [program.stdout, program.stderr])
    stream.on('data', (chunk) => {
      said += chunk
    })
  t.teardown(async () => {
    if (program.exitCode !== null) return
    program.kill()
    await once(program, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  for (const begun = performance.now(); performance.now() - begun < hangsAfter; await sleep(200)) {
    if (program.exitCode !== null) throw new Error(`${command} ended:\n${said}`)
    if (await fetch(`${url}/ready`, { redirect: 'manual' }).catch(() => null)) return url
  }
  throw new Error(`${command} does not answer:\n${said}`)
}

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort, install, startProgram } from './programs.ts'

/** Keycloak with the realm `test`, the person ada, and these clients. Gives the URL of the realm. */
export async function startKeycloak(t: Test, clients: readonly object[]): Promise<string> {
  const folder = await install.keycloak()
  const port = await freePort()
  const realm = {
    realm: 'test',
    enabled: true,
    clients,
    users: [
      {
        ...{ username: 'ada', enabled: true, email: 'ada@example.com', emailVerified: true },
        ...{ firstName: 'Ada', lastName: 'Lovelace' },
        credentials: [{ type: 'password', value: 'correct' }],
      },
    ],
  }
  await mkdir(join(folder, 'data', 'import'), { recursive: true })
  await writeFile(join(folder, 'data', 'import', 'test-realm.json'), JSON.stringify(realm))
  // A database in the memory of this one run.
  const options = ['--import-realm', '--db=dev-mem', '--http-host=127.0.0.1', `--http-port=${port}`]
  const env = { JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m' }
  const command = [join(folder, 'bin', 'kc.sh'), 'start-dev', ...options]
  const url = await startProgram(t, command, port, { env, cwd: folder })
  return `${url}/realms/test`
}

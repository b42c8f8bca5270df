import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { checkManifest, storeManifest } from '../../src/installation/manifests/apply-manifest.ts'
import { manifestClients } from '../../src/oauth/clients/manifest-clients.ts'
import { callCli, settingsFor } from '../cli/run-cli.ts'
import { type Client, startService } from '../helpers/service.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

/** An operator at the command line of a new service, who applies manifests. `more` are settings of the command line. */
export async function openOperator(t: Test, more: Record<string, string> = {}) {
  const keys = randomBytes(32).toString('base64url')
  const service = await startService(t, { env: { SECRET_KEYS: keys } })
  const env = { ...settingsFor(service.databases, keys), ...more }
  const cli = (...args: string[]) => callCli(args, { env })
  let files = 0
  /** The path of a new file with this text, or with this manifest. */
  const written = (content: string | object): string => {
    const name = `manifest${++files}.json`
    const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2)
    return join(t.testdir({ [name]: text }), name)
  }
  const apply = (path: string, ...options: string[]) => cli('manifest:apply', '--file', path, ...options)
  /** Stores a manifest, as a run that ended before it came to a tenant. */
  const store = async (path: string): Promise<void> => {
    const deps = {
      db: service.deps.db,
      clock: Date.now,
      maxVersions: 10,
      receivers: { allowPrivate: true, allowedHosts: [] },
      clients: manifestClients(service.deps.config),
      config: { OPA_PATH: undefined, production: false },
      sealer: () => service.deps.sealer,
    }
    await storeManifest(deps, await checkManifest(deps, readFileSync(path, 'utf8')))
  }
  return { service, cli, written, apply, store }
}

export const list = async (person: Client, path: string): Promise<Json[]> =>
  (await person.get(`/api/v1/${path}`)).body.results

/** The policy that a manifest gives a tenant under this key. */
export const policyOf = async (person: Client, key: string) =>
  (await list(person, 'policies/')).find(({ managed_as }) => managed_as === key)

export const roleOf = async (person: Client, name: string) =>
  (await list(person, `tenants/${person.tenantId}/roles/`)).find((role) => role.name === name)

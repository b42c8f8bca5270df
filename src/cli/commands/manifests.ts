import { readFile } from 'node:fs/promises'
import { asSystem } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { receiverRules } from '../../events/webhooks/public-address.ts'
import {
  type ApplyDeps,
  bringTenants,
  checkManifest,
  differencesOf,
  rulesAfter,
  type Stored,
  storeManifest,
  type TenantsDone,
} from '../../installation/manifests/apply-manifest.ts'
import { diffLines } from '../../installation/manifests/manifest-diff.ts'
import { ManifestInvalid } from '../../installation/manifests/read-manifest.ts'
import { readInstalledRules } from '../../installation/manifests/store.ts'
import { manifestClients } from '../../oauth/clients/manifest-clients.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import type { Config } from '../../settings/config.ts'
import { countTenantsBehind } from '../../tenancy/tenants/store.ts'
import { defineCommand, type Outcome, Refused, requestInfoOf } from '../command.ts'
import { flag, Misuse, optional, path, required } from '../options.ts'
import { inColumns } from '../printable.ts'
import { sealerOf, withPools } from '../with-database.ts'
import { clientLine, clientsOf } from './manifest-secrets.ts'

const roles = ['api', 'system'] as const
const file = { value: '<path>', about: 'The manifest, a JSON file' }
const adopt = flag("Take over a tenant's own roles and attributes of the same names, with their members")

export const manifestApply = defineCommand({
  name: 'manifest:apply',
  about:
    "Give every tenant an application's roles, attributes and policies; without --file, continue with tenants that are behind",
  options: { file: optional(file.value, file.about, path), adopt },
  example: '--file manifest.json',
  failure: 'failed, the manifest has faults, or some tenants did not get the rules',
  roles,
  run: ({ config, options, say }) =>
    withPools(config, roles, async (db, complete) => {
      const deps = depsOf(db, complete)
      const stored = options.file === undefined ? null : await store(deps, options.file)
      const rules = await asSystem(db, 'manifests belong to no tenant', readInstalledRules)
      if (rules.revision === 0)
        throw new Refused('not_found', 'No manifest is applied. Give one: --file <path>.')
      const done = await bringTenants(deps, {
        rules,
        requestInfo: requestInfoOf('manifest:apply'),
        adopt: options.adopt,
        dryRun: false,
        progress: (count) => say(`${count} tenants`),
      })
      return outcomeOf(done, { stored, isDone: true })
    }),
})

export const manifestDiff = defineCommand({
  name: 'manifest:diff',
  about: 'Show what manifest:apply would change, and which tenants have conflicts; writes nothing',
  options: { file: required(file.value, file.about, path), adopt },
  example: '--file manifest.json',
  failure: 'failed, the manifest has faults, or some tenants have conflicts',
  roles,
  run: ({ config, options, say }) =>
    withPools(config, roles, async (db, complete) => {
      const deps = depsOf(db, complete)
      const checked = await explained(checkManifest(deps, await textOf(options.file)))
      const { application, version, before } = checked
      const isNew = version !== before?.version
      const rules = isNew ? rulesAfter(checked) : checked.rules
      const done = await bringTenants(deps, {
        rules,
        requestInfo: requestInfoOf('manifest:diff'),
        adopt: options.adopt,
        dryRun: true,
        progress: (count) => say(`${count} tenants`),
      })
      return outcomeOf(done, {
        stored: {
          application,
          version,
          isNew,
          differences: differencesOf(checked),
          secrets: [],
          clients: [],
        },
        isDone: false,
      })
    }),
})

export const manifestList = defineCommand({
  name: 'manifest:list',
  about: 'List the applications that have a manifest, and the number of tenants that are behind',
  options: {},
  example: '',
  roles: ['system'],
  run: ({ config }) =>
    withPools(config, ['system'], async (db) => {
      const { rules, behind } = await asSystem(db, 'manifests belong to no tenant', async (tx) => {
        const rules = await readInstalledRules(tx)
        return { rules, behind: await countTenantsBehind(tx, rules.revision) }
      })
      const manifests = rules.manifests.map(({ application, version, document, created_at }) => ({
        application,
        version,
        applied_at: rfc3339(created_at),
        roles: Object.keys(document.roles).length,
        attributes: Object.keys(document.attributes).length,
        policies: Object.keys(document.policies).length,
        webhooks: Object.keys(document.webhooks).length,
        clients: clientsOf({ application, document }),
        resources: Object.values(document.resources ?? {}).map(({ identifier }) => identifier),
      }))
      const table = inColumns(
        [
          'application',
          'version',
          'applied_at',
          'roles',
          'attributes',
          'policies',
          'webhooks',
          'clients',
          'resources',
        ],
        manifests.map(({ clients, resources, ...row }) =>
          [...Object.values(row), clients.length, resources.length].map(String),
        ),
      )
      const clients = manifests.flatMap(({ clients }) => clients.map(clientLine))
      return {
        data: { manifests, tenants_behind: behind },
        text: [table, ...clients, behindText(behind)].join('\n'),
      }
    }),
})

const behindText = (behind: number) =>
  behind === 0
    ? 'Every tenant is up to date.'
    : `${behind} tenants are behind. To continue: npm run cli -- manifest:apply`

const depsOf = (db: ApplyDeps['db'], config: Config): ApplyDeps => ({
  db,
  clock: Date.now,
  maxVersions: config.LIMIT_POLICY_VERSIONS,
  receivers: receiverRules(config),
  clients: manifestClients(config),
  config,
  sealer: () => sealerOf(config),
})

async function store(deps: ApplyDeps, path: string): Promise<Applied> {
  const checked = await explained(checkManifest(deps, await textOf(path)))
  return { ...(await explained(storeManifest(deps, checked))), clients: clientsOf(checked) }
}

type Applied = Stored & { clients: ReturnType<typeof clientsOf> }

const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Misuse(`--file cannot be read (${error.code}).`)
  })

/** Turns faults of the manifest into a refusal with a line for each. */
async function explained<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    if (error instanceof ManifestInvalid) {
      const inOrder = error.faults.toSorted(
        (one, other) => one.line - other.line || one.column - other.column,
      )
      const lines = inOrder.map(
        ({ line, column, pointer, code, detail }) => `${line}:${column}  ${pointer}  ${code}  ${detail}`,
      )
      throw new Refused('manifest_invalid', [`${error.message} Nothing was changed.`, ...lines].join('\n'))
    }
    throw error instanceof ApiError ? new Refused(error.code, error.message) : error
  })
}

function outcomeOf(
  done: TenantsDone,
  { stored, isDone }: { stored: Applied | null; isDone: boolean },
): Outcome {
  const { changed, unchanged, kept, conflicting, conflicts, failed, refused } = done
  const lines = [
    ...(stored ? manifestLines(stored, isDone) : []),
    isDone
      ? `Tenants changed: ${changed}; unchanged: ${unchanged}; with conflicts: ${conflicting}; failed: ${failed}`
      : `Tenants to change: ${changed}; unchanged: ${unchanged}; with conflicts: ${conflicting}; failed: ${failed}`,
    ...(kept > 0
      ? [
          `Kept as the tenant's own, because they are in use: ${kept} roles and attributes that left the manifest`,
        ]
      : []),
    ...conflicts.flatMap(({ tenantId, conflicts }) =>
      conflicts.map(({ application, pointer, code }) => `${tenantId}  ${application}  ${pointer}  ${code}`),
    ),
    ...(conflicting > 0 ? [conflictHelp] : []),
    ...(failed > refused ? ['Some tenants were locked for too long. Run the command again.'] : []),
    ...(refused > 0 ? [refusedHelp(refused)] : []),
  ]
  return {
    exit: conflicting + failed > 0 ? 1 : 0,
    data: {
      ...(stored && {
        application: stored.application,
        version: stored.version,
        is_new: stored.isNew,
        differences: stored.differences,
        secrets: stored.secrets,
        clients: stored.clients,
      }),
      tenants: { changed, unchanged, kept, conflicting, failed },
      conflicts: conflicts.map(({ tenantId, conflicts }) => ({ tenant_id: tenantId, conflicts })),
    },
    text: lines.join('\n'),
  }
}

const refusedHelp = (refused: number) =>
  `For ${refused} tenants the database refused a change (SQLSTATE class 23), for example because a member got a role meanwhile. Run the command again. If they fail again, the log of the database names the constraint: report it.`

const conflictHelp =
  'A tenant with a conflict keeps the earlier form of these rules, and has all others. Rename in the manifest or in the tenant, or use --adopt, and run the command again.'

function manifestLines(
  { application, version, isNew, differences, secrets, clients }: Applied,
  isDone: boolean,
): string[] {
  if (!isNew) return [`${application}: version ${version} is applied already. The manifest is the same.`]
  return [
    isDone
      ? `${application}: version ${version} is stored.`
      : `${application}: this would be version ${version}.`,
    ...diffLines(differences),
    ...secrets.map(({ webhook, secret }) => `Secret of webhook ${webhook}: ${secret}   (shown once)`),
    ...clients.map(clientLine),
  ]
}

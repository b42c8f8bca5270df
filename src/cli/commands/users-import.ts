import { access, constants, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Source, sources } from '../../identity/import/export-formats.ts'
import { type Checked, checkImport, importPeople, type Report } from '../../identity/import/import-people.ts'
import { LineFault } from '../../identity/import/import-row.ts'
import { type Export, readExport } from '../../identity/import/read-export.ts'
import { openTenantSetUp } from '../../installation/manifests/set-up-tenant.ts'
import { defineCommand, type Outcome, Refused, requestInfoOf } from '../command.ts'
import { defaulted, flag, Misuse, oneOf, optional, path, word } from '../options.ts'
import { sealerOf, withPools } from '../with-database.ts'

export const usersImport = defineCommand({
  name: 'users:import',
  about:
    'Import people with their password hashes, apps for codes and memberships: nothing if a line has a fault, and no line twice',
  options: {
    file: word('<file>', 'JSON Lines, or the export of --from', path),
    from: defaulted<Source>(
      '<product>',
      `What wrote the file: ${sources.join(', ')}`,
      oneOf(...sources),
      'bailiwick',
    ),
    source: optional(
      '<name>',
      'The name of the import, in which the ids of the file are unique (default: the file’s name)',
    ),
    tenant: optional('<id or slug>', 'The tenant of all people for whom the file names none'),
    role: optional('<name>', 'Their role in it, with --tenant (default member)'),
    'firebase-hash': optional(
      '<file>',
      'With --from firebase: the password hash parameters of the project',
      path,
    ),
    check: flag('Only look for faults'),
  },
  example: 'people.jsonl --check',
  failure:
    'a line has a fault: stderr names the line and the field. Without --check nothing was imported, unless stderr says so',
  roles: ['api', 'system'],
  async run({ config, options, say }) {
    const from = await exportOf(options)
    const given = {
      rows: () => readExport(from),
      source: options.source ?? basename(options.file),
      requestInfo: requestInfoOf('users:import'),
    }
    return withPools(config, ['api', 'system'], async (db, complete): Promise<Outcome> => {
      const deps = { db, clock: Date.now, sealer: sealerOf(complete), setUpTenant: openTenantSetUp() }
      const checked = await checkImport(deps, given)
      if (checked.faultCount > 0) throw new Refused('line_fault', faultsOf(checked))
      const { rows } = checked
      if (options.check) return { data: { rows, faults: 0 }, text: `${rows} lines, no fault.` }
      const report = await importPeople(deps, { ...given, all: rows, progress: progressOf(say) }).catch(
        (error) => {
          if (!(error instanceof LineFault)) throw error
          throw new Refused(
            error.code,
            `${error.message}. The lines before it are imported; another run goes on.`,
          )
        },
      )
      return { data: { rows, ...report }, text: textOf(report) }
    })
  },
})

interface Options {
  file: string
  from: Source
  tenant: string | undefined
  role: string | undefined
  'firebase-hash': string | undefined
}

async function exportOf({ file, from, tenant, role, 'firebase-hash': hash }: Options): Promise<Export> {
  if (role !== undefined && tenant === undefined) throw new Misuse('--role needs --tenant.')
  if ((from === 'firebase') !== (hash !== undefined))
    throw new Misuse('--from firebase and --firebase-hash go together.')
  await assertFile(file)
  return {
    file,
    from,
    ...(hash !== undefined && { firebaseHash: await assertFile(hash).then(() => readFile(hash, 'utf8')) }),
    ...(tenant !== undefined && { membership: { tenant, roles: [role ?? 'member'] } }),
  }
}

async function assertFile(path: string): Promise<void> {
  await access(path, constants.R_OK).catch(() => {
    throw new Refused('no_file', `There is no file ${path} that can be read.`)
  })
}

const faultsOf = ({ faults, faultCount, rows }: Checked): string =>
  [
    `Nothing was imported: ${faultCount} faults in ${rows} lines.`,
    ...faults.map(({ message }) => `${message}.`),
    ...(faultCount > faults.length ? [`And ${faultCount - faults.length} more.`] : []),
  ].join('\n')

const width = 30

/** A line for each twentieth of the file. */
function progressOf(say: (line: string) => void) {
  let shown = 0
  return (done: number, all: number) => {
    const part = Math.floor((done * 20) / all)
    if (part === shown) return
    shown = part
    const filled = Math.round((done * width) / all)
    say(`[${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done} of ${all}`)
  }
}

const textOf = ({ created, joined, secured, known, kept }: Report): string =>
  [
    `New people: ${created}. People who had an account: ${joined + secured}. Imported before: ${known}.`,
    ...(secured > 0 ? [`Of the accounts, ${secured} had not proved their address and start anew.`] : []),
    ...(kept.length > 0
      ? [
          `These lines gave memberships alone, because the account proved its address before: ${linesOf(kept)}.`,
        ]
      : []),
  ].join('\n')

const linesOf = (lines: readonly number[]): string =>
  lines.length > 50 ? `${lines.slice(0, 50).join(', ')} and ${lines.length - 50} more` : lines.join(', ')

import { ConfigError, readConfig } from '../config.ts'
import { UnsoundDatabase } from '../platform/db/soundness.ts'
import { reasonOf } from '../stop-signal.ts'
import { type Command, helpOf, type Outcome, usageOf } from './command.ts'
import { commands } from './commands.ts'
import { Misuse, readOptions } from './options.ts'

const say = (line: string) => console.error(line)

/** stdout is for results and what was asked for, stderr for all other talk. */
async function main([name = '', ...args]: string[]): Promise<void> {
  if (name === '--help' || name === 'help') return finish(list(), 0)
  const command = commands.find((candidate) => candidate.name === name)
  if (!command) return misused(name, args)
  if (args.includes('--help')) return finish(helpOf(command), 0)
  const json = args.includes('--json')
  try {
    const options = readOptions(args, command.options)
    const { roles, run } = command.prepare(options)
    const outcome = await run(readConfig(undefined, roles), say)
    finish(printed(outcome, json), outcome.exit ?? 0)
  } catch (error) {
    complain(command, error, json)
  }
}

const printed = ({ data, text }: Outcome, json: boolean) => (json ? JSON.stringify(data) : text)

/** Ends the process once everything is written: what it is read by may be slow. */
function finish(text: string, code: number): void {
  process.stdout.write(text === '' ? '' : `${text}\n`, () => process.exit(code))
}

function misused(name: string, args: string[]): void {
  const sentence = name.startsWith('-') || name === '' ? 'Name a command.' : `There is no command ${name}.`
  if (args.includes('--json')) say(document('misuse', sentence))
  else say(`${sentence}\n\n${list()}`)
  process.exit(2)
}

function complain(command: Command, error: unknown, json: boolean): void {
  const misuse = error instanceof Misuse
  const reason = reasonOf(error)
  if (json) say(document(codeOf(error), reason))
  else say(misuse ? `${reason}\n\n  ${usageOf(command)}` : reason)
  process.exit(misuse ? 2 : 1)
}

const document = (code: string, message: string) => JSON.stringify({ error: { code, message } })

/** For programs: codes of the API where a rule of the API refused it. */
function codeOf(error: unknown): string {
  if (error instanceof Misuse) return 'misuse'
  if (error instanceof ConfigError) return 'configuration'
  if (error instanceof UnsoundDatabase) return 'database'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^[a-z_]+$/.test(code) ? code : 'failed'
}

function list(): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const rows = commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`)
  return [
    'npm run cli -- <command> [options] [--json] [--help]',
    '',
    ...rows,
    '',
    'Exit codes: 0 done, 1 failed or "no", 2 asked wrongly. More: docs/cli.md',
  ].join('\n')
}

// Read by a pager or head that has seen enough.
process.stdout.on('error', () => process.exit(1))

main(process.argv.slice(2)).catch((error) => {
  say(reasonOf(error))
  process.exit(1)
})

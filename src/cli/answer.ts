import { UnsoundDatabase } from '../database/isolation/soundness.ts'
import { ConfigError, readConfig } from '../settings/config.ts'
import { reasonOf } from '../start/stop-signal.ts'
import { helpOf, type Outcome, usageOf } from './command.ts'
import { commands } from './commands.ts'
import { didYouMean, Misuse, readOptions, sentence } from './options.ts'
import { printableJson, printableLines } from './printable.ts'

/** How a call ends: the exit code, and the texts for stdout (results, help) and stderr (everything else). */
export interface Answer {
  code: 0 | 1 | 2
  out: string
  err: string
}

interface Surroundings {
  /** Settings; the environment of the process unless given. */
  env?: Record<string, string | undefined>
  /** Receives progress messages; with --json there are none. */
  say(line: string): void
}

/** Runs the command that the arguments name. Never throws: a failure is an answer. */
export async function answer(
  [name = '', ...args]: readonly string[],
  { env, say }: Surroundings,
): Promise<Answer> {
  const json = args.includes('--json')
  if (name === '--help' || name === 'help') return { code: 0, out: listOfCommands(), err: '' }
  const command = commands.find((candidate) => candidate.name === name)
  if (!command) return unknownCommand(name, json)
  if (args.includes('--help')) return { code: 0, out: helpOf(command), err: '' }
  try {
    const { roles, run } = command.prepare(readOptions(args, command.options))
    const outcome = await run(readConfig(env, roles), json ? () => undefined : say)
    return { code: outcome.exit ?? 0, out: printed(outcome, json), err: '' }
  } catch (error) {
    const misuse = error instanceof Misuse
    const reason = misuse && !json ? `${error.message}\n\n  ${usageOf(command)}` : reasonOf(error)
    return {
      code: misuse ? 2 : 1,
      out: '',
      err: json ? failure(codeOf(error), reason) : printableLines(reason),
    }
  }
}

const printed = ({ data, text }: Outcome, json: boolean) =>
  json ? printableJson(data) : printableLines(text)

function unknownCommand(name: string, json: boolean): Answer {
  const meant = didYouMean(
    name,
    commands.map((command) => command.name),
  )
  const why = name.startsWith('-') || name === '' ? 'Name a command' : `Unknown command ${name}${meant}`
  const err = json ? failure('misuse', sentence(why)) : `${sentence(why)}\n\n${listOfCommands()}`
  return { code: 2, out: '', err }
}

const failure = (code: string, message: string) => printableJson({ error: { code, message } })

/** The error code for programs; the code of the API if one of its rules refused the command. */
function codeOf(error: unknown): string {
  if (error instanceof Misuse) return 'misuse'
  if (error instanceof ConfigError) return 'configuration'
  if (error instanceof UnsoundDatabase) return 'database'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^[a-z_]+$/.test(code) ? code : 'failed'
}

function listOfCommands(): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const rows = commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`)
  return [
    'npm run cli -- <command> [options] [--json] [--help]',
    '',
    ...rows,
    '',
    'Exit codes: 0 done, 1 failed or a negative result, 2 wrong usage. More: docs/reference/cli.md',
  ].join('\n')
}

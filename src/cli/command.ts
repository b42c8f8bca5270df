import type { Config, Role } from '../config.ts'
import { flag, type Options, type Values } from './options.ts'

/** What a command answers: `data` is printed as one document with --json, else `text`; `exit` 1 is a "no". */
export interface Outcome {
  exit?: 0 | 1
  data: object
  text: string
}

export interface Invocation<O extends Options> {
  config: Config
  options: Values<O>
  /** For whoever waits: goes to stderr, for stdout is for results. */
  say(line: string): void
}

interface Described<O extends Options> {
  name: string
  /** One line. */
  about: string
  options: O
  /** The arguments of a call that makes sense. */
  example: string
  /** What exit code 1 means here. */
  failure?: string
}

interface Spec<O extends Options> extends Described<O> {
  /** The database roles that it acts as: in production their addresses have to be set, and others need not. */
  roles?: readonly Role[] | ((options: Values<O>) => readonly Role[])
  run(invocation: Invocation<O>): Promise<Outcome>
}

/** A command once its options are read: the roles it needs, and its work. */
export interface Command extends Described<Options> {
  prepare(options: Values<Options>): {
    roles: readonly Role[]
    run(config: Config, say: (line: string) => void): Promise<Outcome>
  }
}

const json = flag('One JSON document on stdout; where it fails, {"error":{"code","message"}} on stderr')
const help = flag('Print this')

/** Makes a command of its description; --json and --help come of themselves. */
export function defineCommand<O extends Options>(spec: Spec<O>): Command {
  const { roles = [], run, ...described } = spec
  return {
    ...described,
    options: { ...spec.options, json, help },
    prepare(values) {
      const options = values as Values<O>
      return {
        roles: typeof roles === 'function' ? roles(options) : roles,
        run: (config, say) => run({ config, options, say }),
      }
    },
  }
}

/** Something that cannot be had, in a sentence for the operator: exit 1. */
export class Refused extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** How a command is called. */
export function usageOf({ name, options }: Command): string {
  const words = Object.entries(options).map(([option, { value, required }]) => {
    const word = value === undefined ? `--${option}` : `--${option} ${value}`
    return required ? word : `[${word}]`
  })
  return ['npm run cli --', name, ...words].join(' ')
}

/** What --help prints: how it is called, its options, an example, exit codes. */
export function helpOf(command: Command): string {
  const { about, example, failure = 'it failed, and stderr says why', name } = command
  const rows = Object.entries(command.options).map(
    ([option, { value, about }]) => [`--${option}${value ? ` ${value}` : ''}`, about] as const,
  )
  const width = Math.max(...rows.map(([left]) => left.length))
  return [
    `${about}.`,
    '',
    `  ${usageOf(command)}`,
    '',
    'Options',
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    '',
    'Example',
    `  ${example.includes('npm run cli') ? example : `npm run cli -- ${[name, example].join(' ').trim()}`}`,
    '',
    'Exit codes',
    '  0  done',
    `  1  ${failure}`,
    '  2  asked wrongly; nothing was done',
  ].join('\n')
}

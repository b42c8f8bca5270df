import { randomUUID } from 'node:crypto'
import type { RequestInfo } from '../http/request-info.ts'
import type { Config, Role } from '../settings/config.ts'
import { flag, type Options, type Values } from './options.ts'

/** The result of a command: `data` is printed as one document with --json, else `text`; `exit` 1 is a negative result. */
export interface Outcome {
  exit?: 0 | 1
  data: object
  text: string
}

export interface Invocation<O extends Options> {
  config: Config
  options: Values<O>
  /** Shows progress on stderr; stdout is for results. */
  say(line: string): void
}

interface Description<O extends Options> {
  name: string
  /** One line. */
  about: string
  options: O
  /** The arguments of a realistic call. */
  example: string
  /** The meaning of exit code 1. */
  failure?: string
}

interface Spec<O extends Options> extends Description<O> {
  /** The database roles that the command connects as: production has to set the addresses of these only. */
  roles?: readonly Role[] | ((options: Values<O>) => readonly Role[])
  run(invocation: Invocation<O>): Promise<Outcome>
}

/** A command; `prepare` takes its options and gives the roles it needs and its work. */
export interface Command extends Description<Options> {
  prepare(options: Values<Options>): {
    roles: readonly Role[]
    run(config: Config, say: (line: string) => void): Promise<Outcome>
  }
}

const json = flag('Print one JSON document on stdout; on failure, {"error":{"code","message"}} on stderr')
const help = flag('Print this help')

/** Makes a command from its description, and adds --json and --help. */
export function defineCommand<O extends Options>(spec: Spec<O>): Command {
  const { roles = [], run, ...description } = spec
  return {
    ...description,
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

/** A failure that is explained in a sentence for the operator: exit 1. */
export class Refused extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** What audit log and events record as the request of a command. */
export const requestInfoOf = (command: string): RequestInfo => ({
  requestId: `cli-${randomUUID()}`,
  ip: '',
  userAgent: `cli ${command}`,
  traceparent: null,
})

/** The command line of a command, with its options. */
export function usageOf({ name, options }: Command): string {
  const words = Object.entries(options).map(([option, { value, required, isWord }]) => {
    if (isWord) return value!
    const word = value === undefined ? `--${option}` : `--${option} ${value}`
    return required ? word : `[${word}]`
  })
  return ['npm run cli --', name, ...words].join(' ')
}

/** The text of --help: usage, options, an example, exit codes. */
export function helpOf(command: Command): string {
  const { about, example, failure = 'failed; stderr says why', name } = command
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
    `  npm run cli -- ${[name, example].join(' ').trim()}`,
    '',
    'Exit codes',
    '  0  done',
    `  1  ${failure}`,
    '  2  wrong usage; nothing was done',
  ].join('\n')
}

import { text as readAll } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { normaliseEmail } from '../platform/email-address.ts'

/** Wrong usage of a command: exit 2. The message never repeats a value, which could be a secret. */
export class Misuse extends Error {}

/** An option of a command: `value` is the placeholder for its value in the usage; a flag has none. */
export interface Option<T> {
  about: string
  value?: string
  required?: boolean
  /** Parses the value; `given` is undefined without the option. Throws {@link Misuse}. */
  read(given: string | boolean | undefined): T
}

// biome-ignore lint/suspicious/noExplicitAny: each option has its own type, which Values infers
export type Options = Record<string, Option<any>>
export type Values<O extends Options> = { [Name in keyof O]: O[Name] extends Option<infer T> ? T : never }

type Reader<T> = (text: string) => T

/** An option without a value. */
export const flag = (about: string): Option<boolean> => ({ about, read: (given) => given === true })

/** An option that can be left out. */
export const optional = <T = string>(
  value: string,
  about: string,
  read: Reader<T> = anyText as Reader<T>,
): Option<T | undefined> => ({
  about,
  value,
  read: (given) => (given === undefined ? undefined : read(String(given))),
})

/** An option that has the value `fallback` when it is left out. */
export const defaulted = <T>(
  value: string,
  about: string,
  read: Reader<T>,
  fallback: NoInfer<T>,
): Option<T> => ({
  about: `${about} (default ${fallback})`,
  value,
  read: (given) => (given === undefined ? fallback : read(String(given))),
})

/** An option that a call must have. */
export const required = <T = string>(
  value: string,
  about: string,
  read: Reader<T> = anyText as Reader<T>,
): Option<T> => ({ about, value, required: true, read: (given) => read(String(given)) })

/** Text of 1 to 200 characters. */
export const anyText: Reader<string> = (text) =>
  text.trim() !== '' && text.length <= 200 ? text.trim() : wrong('must be text of 1 to 200 characters')

export const email: Reader<string> = (text) =>
  normaliseEmail(text) ?? wrong('must be an e-mail address, such as ada@example.com')

export const id: Reader<string> = (text) =>
  z.uuid().safeParse(text).success ? text.toLowerCase() : wrong('must be an id (a UUID)')

export const wholeNumber =
  (min: number, max: number): Reader<number> =>
  (text) =>
    /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? Number(text)
      : wrong(`must be a whole number from ${min} to ${max}`)

export const oneOf =
  <const Name extends string>(...names: Name[]): Reader<Name> =>
  (text) =>
    names.find((name) => name === text) ?? wrong(`must be one of ${names.join(', ')}`)

/** A day (its start in UTC) or a date and time of RFC 3339, as ms since 1970. */
export const moment: Reader<number> = (text) =>
  z.iso.date().safeParse(text).success || z.iso.datetime({ offset: true }).safeParse(text).success
    ? Date.parse(text)
    : wrong('must be a date, such as 2026-11-21 or 2026-11-21T12:00:00Z')

function wrong(expectation: string): never {
  throw new Misuse(expectation)
}

/** Parses the arguments of a command. Throws {@link Misuse}, which names the unknown, missing or malformed option. */
export function readOptions<O extends Options>(args: string[], options: O): Values<O> {
  const given = parse(args, options)
  const missing = Object.entries(options).filter(([name, { required }]) => required && !(name in given))
  if (missing.length > 0)
    throw new Misuse(`${missing.map(([name]) => `--${name}`).join(' and ')} is missing.`)
  const read = Object.entries(options).map(([name, option]) => {
    try {
      return [name, option.read(given[name])]
    } catch (error) {
      throw error instanceof Misuse ? new Misuse(`--${name} ${error.message}.`) : error
    }
  })
  return Object.fromEntries(read)
}

function parse(args: string[], options: Options): Record<string, string | boolean | undefined> {
  const types = Object.entries(options).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  )
  try {
    return parseArgs({ args, options: Object.fromEntries(types), allowPositionals: false }).values as never
  } catch (error) {
    throw new Misuse(sentenceOf(error as NodeJS.ErrnoException))
  }
}

/** Replaces Node's own messages, which repeat the given value. */
function sentenceOf({ code, message }: NodeJS.ErrnoException): string {
  const [, name = 'An option'] = /'(--?[\w:-]+)/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `Unknown option ${name}.`
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL')
    return 'Unexpected argument: give every value by an option.'
  if (/does not take an argument/.test(message)) return `${name} takes no value.`
  const hint = / ambiguous/.test(message) ? ` Write ${name}=<value> if the value starts with a dash.` : ''
  return `${name} needs a value.${hint}`
}

/** The first line of stdin. Throws {@link Misuse} at a terminal, which would show the password while it is typed. */
export async function readSecret(stdin: NodeJS.ReadStream = process.stdin): Promise<string> {
  if (stdin.isTTY) throw new Misuse('Pipe the password in: a terminal would show it.')
  const [line = ''] = (await readAll(stdin)).split(/\r?\n/)
  if (line === '') throw new Misuse('Nothing was piped in.')
  return line
}

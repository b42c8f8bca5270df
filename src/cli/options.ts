import { text as readAll } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { normaliseEmail } from '../platform/email-address.ts'

/** A command that was asked wrongly: exit 2. The sentence never repeats a value, for that may be a secret. */
export class Misuse extends Error {}

/** An option of a command: `value` stands for its value in the usage, and a flag has none. */
export interface Option<T> {
  about: string
  value?: string
  required?: boolean
  /** Gives the value, undefined for none given; throws {@link Misuse}. */
  read(given: string | boolean | undefined): T
}

// biome-ignore lint/suspicious/noExplicitAny: each option reads its own type, which Values brings back
export type Options = Record<string, Option<any>>
export type Values<O extends Options> = { [Name in keyof O]: O[Name] extends Option<infer T> ? T : never }

type Reader<T> = (text: string) => T

/** An option without a value. */
export const flag = (about: string): Option<boolean> => ({ about, read: (given) => given === true })

/** An option that may be left out. */
export const optional = <T = string>(
  value: string,
  about: string,
  read: Reader<T> = anyText as Reader<T>,
): Option<T | undefined> => ({
  about,
  value,
  read: (given) => (given === undefined ? undefined : read(String(given))),
})

/** An option that stands for `fallback` where it is left out. */
export const defaulted = <T>(
  value: string,
  about: string,
  read: Reader<T>,
  fallback: NoInfer<T>,
): Option<T> => ({
  about: `${about}; ${fallback} unless given`,
  value,
  read: (given) => (given === undefined ? fallback : read(String(given))),
})

/** An option that has to be there. */
export const required = <T = string>(
  value: string,
  about: string,
  read: Reader<T> = anyText as Reader<T>,
): Option<T> => ({ about, value, required: true, read: (given) => read(String(given)) })

/** Text of 1 to 200 characters. */
export const anyText: Reader<string> = (text) =>
  text.trim() !== '' && text.length <= 200 ? text.trim() : wrong('has to be 1 to 200 characters of text')

export const email: Reader<string> = (text) =>
  normaliseEmail(text) ?? wrong('has to be an e-mail address, such as ada@example.com')

export const id: Reader<string> = (text) =>
  z.uuid().safeParse(text).success ? text.toLowerCase() : wrong('has to be an id (a UUID)')

export const wholeNumber =
  (least: number, most: number): Reader<number> =>
  (text) =>
    /^\d{1,16}$/.test(text) && Number(text) >= least && Number(text) <= most
      ? Number(text)
      : wrong(`has to be a whole number from ${least} to ${most}`)

export const oneOf =
  <const Name extends string>(...names: Name[]): Reader<Name> =>
  (text) =>
    names.find((name) => name === text) ?? wrong(`has to be one of ${names.join(', ')}`)

/** A day (its begin in UTC) or a moment of RFC 3339, as ms since 1970. */
export const moment: Reader<number> = (text) =>
  z.iso.date().safeParse(text).success || z.iso.datetime({ offset: true }).safeParse(text).success
    ? Date.parse(text)
    : wrong('has to be a date, such as 2026-11-21 or 2026-11-21T12:00:00Z')

function wrong(wanted: string): never {
  throw new Misuse(wanted)
}

/** Reads the arguments of a command; throws {@link Misuse} naming what is unknown, missing or malformed. */
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

/** Node's own sentences repeat what was given, and advise. */
function sentenceOf({ code, message }: NodeJS.ErrnoException): string {
  const [, name = 'An option'] = /'(--?[\w:-]+)/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `There is no option ${name} here.`
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') return 'What is given has to follow an option.'
  return /does not take an argument/.test(message) ? `${name} takes no value.` : `${name} needs a value.`
}

/** The first line of what is piped in; throws {@link Misuse} at a terminal, which would show what is typed. */
export async function readSecret(stdin: NodeJS.ReadStream = process.stdin): Promise<string> {
  if (stdin.isTTY) throw new Misuse('Pipe the password in: at a terminal it would be seen.')
  const [line = ''] = (await readAll(stdin)).split(/\r?\n/)
  if (line === '') throw new Misuse('Nothing was piped in.')
  return line
}

import { text as readAll } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { normaliseEmail } from '../messages/mail/email-address.ts'
import { nearestName } from '../text/nearest-name.ts'

/** Wrong usage of a command: exit 2. The message never repeats a value, which could be a secret. */
export class Misuse extends Error {}

/** An option of a command: `value` is the placeholder for its value in the usage; a flag has none. */
export interface Option<T> {
  about: string
  value?: string
  required?: boolean
  /** The value can stand alone, without the name of the option. */
  isWord?: boolean
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

/** An option that a call must have, and that a word without an option's name gives, too. */
export const word = <T = string>(
  value: string,
  about: string,
  read: Reader<T> = anyText as Reader<T>,
): Option<T> => ({ ...required(value, about, read), isWord: true })

/** The path of a file, as long as Linux takes it (PATH_MAX). */
export const path: Reader<string> = (text) =>
  text !== '' && Buffer.byteLength(text) < 4_096 ? text : wrong('must be the path of a file')

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
    nameOf(names, text)

/** Names with commas between them, each one of `known`. */
export const namesOf =
  <Name extends string>(known: readonly Name[]): Reader<Name[]> =>
  (text) =>
    text.split(',').map((name) => nameOf(known, name))

function nameOf<Name extends string>(known: readonly Name[], given: string): Name {
  const name = known.find((one) => one === given)
  return name ?? wrong(`must be one of ${known.join(', ')}${didYouMean(given, known)}`)
}

/** A question for the name that was probably meant; empty if none is near. It follows a sentence without its period. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const meant = nearestName(given, known)
  return meant === null ? '' : `. Did you mean ${meant}?`
}

/** A day (its start in UTC) or a date and time of RFC 3339, as ms since 1970. */
export const moment: Reader<number> = (text) =>
  z.iso.date().safeParse(text).success || z.iso.datetime({ offset: true }).safeParse(text).success
    ? Date.parse(text)
    : wrong('must be a date, such as 2026-11-21 or 2026-11-21T12:00:00Z')

function wrong(expectation: string): never {
  throw new Misuse(expectation)
}

/** Parses the arguments of a command. Throws {@link Misuse}, which names the unknown, missing or malformed option. */
export const readOptions = <O extends Options>(args: string[], options: O): Values<O> =>
  readArguments(args, options).options

/** The same for arguments that can contain `words` besides options. Without them, a word is refused. */
export function readArguments<O extends Options>(
  args: string[],
  options: O,
  { words = false } = {},
): { options: Values<O>; words: string[] } {
  const named = Object.keys(options).find((name) => options[name]!.isWord)
  const { values: given, positionals } = parse(args, options, words || named !== undefined)
  if (named !== undefined) takeWord(given, named, positionals)
  const missing = Object.entries(options).filter(([name, { required }]) => required && !(name in given))
  if (missing.length > 0)
    throw new Misuse(`${missing.map(([name]) => `--${name}`).join(' and ')} is missing.`)
  const read = Object.entries(options).map(([name, option]) => {
    try {
      return [name, option.read(given[name])]
    } catch (error) {
      throw error instanceof Misuse ? new Misuse(sentence(`--${name} ${error.message}`)) : error
    }
  })
  return { options: Object.fromEntries(read), words: positionals }
}

/** Gives the option its word. Throws {@link Misuse} for a second value. */
function takeWord(given: Parsed['values'], name: string, [first, ...others]: string[]): void {
  if (first === undefined) return
  if (others.length > 0 || name in given) throw new Misuse(`Give one --${name}.`)
  given[name] = first
}

interface Parsed {
  values: Record<string, string | boolean | undefined>
  positionals: string[]
}

function parse(args: string[], options: Options, allowPositionals: boolean): Parsed {
  const types = Object.entries(options).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  )
  try {
    const parsed = parseArgs({ args, options: Object.fromEntries(types), allowPositionals, tokens: true })
    assertOnce(parsed.tokens)
    return parsed as never
  } catch (error) {
    throw error instanceof Misuse ? error : new Misuse(sentenceOf(error as NodeJS.ErrnoException, options))
  }
}

/** Refuses an option with two values: the first would have no effect. */
function assertOnce(tokens: readonly { kind: string; name?: string; value?: unknown }[]): void {
  const names = tokens.flatMap(({ kind, name, value }) =>
    kind === 'option' && value !== undefined ? [name] : [],
  )
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new Misuse(`--${twice} is given twice.`)
}

/** Ends a sentence, unless a question follows it. */
export const sentence = (text: string) => (text.endsWith('?') ? text : `${text}.`)

/** Replaces Node's own messages, which repeat the given value. */
function sentenceOf({ code, message }: NodeJS.ErrnoException, options: Options): string {
  const [, name = 'An option'] = /'(--?[\w:-]+)/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const known = Object.keys(options).map((option) => `--${option}`)
    return sentence(`Unknown option ${name}${didYouMean(name, known)}`)
  }
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

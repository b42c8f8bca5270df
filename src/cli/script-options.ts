import { Misuse, type Options, readArguments, type Values } from './options.ts'

/** The options of the npm script `name`. Prints what is wrong with its arguments, and exits 2. */
export const scriptOptions = <O extends Options>(name: string, options: O): Values<O> =>
  scriptArguments(name, options, { words: false }).options

/** The same for a script that takes words, too, such as files. */
export function scriptArguments<O extends Options>(name: string, options: O, { words = true } = {}) {
  try {
    return readArguments(process.argv.slice(2), options, { words })
  } catch (error) {
    if (error instanceof Misuse) refuseUsage(name, error.message)
    throw error
  }
}

/** Prints what is wrong with the arguments of a script, and exits 2. */
export function refuseUsage(name: string, why: string): never {
  console.error(`${why}\n\n  npm run ${name} -- --help`)
  process.exit(2)
}

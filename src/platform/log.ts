import { type Logger, pino } from 'pino'
import { describeError, originOf } from './describe-error.ts'
import { spanFields } from './tracing/span.ts'

const secretFields = [
  'password',
  'current_password',
  'new_password',
  'code',
  'secret',
  'token',
  'refresh',
  'access',
  'authorization',
]

/**
 * The process's log on standard output: JSON lines in production; in development short readable ones. Fields that
 * may hold a secret are taken out wherever they stand, up to two levels deep. Lines in production are gathered, and
 * written after a fifth of a second at the latest, and when the process exits, be it by an uncaught error. `traced`
 * lines name the span at hand. docs/reference/logs.md has every line.
 */
export function createLogger(level: string, production: boolean, traced = false): Logger {
  const redact = secretFields.flatMap((field) => [`*.${field}`, `*.*.${field}`])
  const options = {
    level,
    redact,
    serializers: { err: told },
    timestamp: pino.stdTimeFunctions.isoTime,
    ...(traced && { mixin: spanFields }),
  }
  return production ? pino(options, gatheredOutput()) : pino(options, { write: printReadable })
}

/** Written synchronously: an asynchronous write may be under way at the exit, and its lines come twice or not at all. */
function gatheredOutput() {
  const output = pino.destination({ dest: 1, sync: true, minLength: 4096, periodicFlush: 200 })
  process.on('exit', () => {
    try {
      output.flushSync()
    } catch {
      // Whoever read the log is gone.
    }
  })
  return output
}

/** What a log may hold of an error: kind, codes and where it was thrown; never SQL, a stack, or what it was given. */
const told = (error: unknown) => ({ kind: describeError(error), at: originOf(error)[0] })

const levels: Record<number, string> = { 40: 'warn  ', 50: 'error ', 60: 'fatal ' }

function printReadable(line: string) {
  const { level, msg, err, request_id } = JSON.parse(line)
  const cause = err ? `\n  ${err.kind} ${err.at ?? ''}` : ''
  const about = level >= 40 && request_id ? ` (request ${request_id})` : ''
  process.stdout.write(`${levels[level] ?? ''}${msg}${about}${cause}\n`)
}

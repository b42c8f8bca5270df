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
 * The process's log on standard output: JSON lines in production, short readable lines in development. Fields that can
 * hold a secret are redacted, one and two levels deep. In production, lines are buffered for a fifth of a second at
 * most; the buffer is written when the process exits, also after an uncaught error. With `traced`, each line names the
 * active span. docs/reference/logs.md lists every line.
 */
export function createLogger(level: string, production: boolean, traced = false): Logger {
  const redact = secretFields.flatMap((field) => [`*.${field}`, `*.*.${field}`])
  const options = {
    level,
    redact,
    serializers: { err: errorFields },
    timestamp: pino.stdTimeFunctions.isoTime,
    ...(traced && { mixin: spanFields }),
  }
  return production ? pino(options, bufferedOutput()) : pino(options, { write: printReadable })
}

/**
 * Writes synchronously: an asynchronous write can be in progress at exit, and its lines would come twice or be lost.
 */
function bufferedOutput() {
  const output = pino.destination({ dest: 1, sync: true, minLength: 4096, periodicFlush: 200 })
  process.on('exit', () => {
    try {
      output.flushSync()
    } catch {
      // The reader of the log is gone.
    }
  })
  return output
}

/** What the log holds of an error: its kind, codes and where it was thrown. Never SQL, a stack, or input values. */
const errorFields = (error: unknown) => ({ kind: describeError(error), at: originOf(error)[0] })

const levels: Record<number, string> = { 40: 'warn  ', 50: 'error ', 60: 'fatal ' }

function printReadable(line: string) {
  const { level, msg, err, request_id } = JSON.parse(line)
  const cause = err ? `\n  ${err.kind} ${err.at ?? ''}` : ''
  const about = level >= 40 && request_id ? ` (request ${request_id})` : ''
  process.stdout.write(`${levels[level] ?? ''}${msg}${about}${cause}\n`)
}

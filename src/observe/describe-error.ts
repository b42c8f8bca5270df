import { z } from 'zod'

/** Thrown by an actor when another attempt cannot help. Its message is our own text and holds no secret. */
export class UnrecoverableError extends Error {
  override name = 'UnrecoverableError'
}

/** The recipient or the content was refused permanently: no fault of the service. Holds no secret. */
export class RefusedForGood extends UnrecoverableError {
  override name = 'RefusedForGood'
}

/** Describes an error by kind and codes, never by its message: mail servers and parsers repeat input in it. */
export function describeError(error: unknown): string {
  if (error instanceof UnrecoverableError) return error.message
  if (error instanceof z.ZodError)
    return `ZodError ${error.issues.map((i) => `${i.path.join('.')}: ${i.code}`).join(', ')}`
  if (!(error instanceof Error)) return 'Something that is not an error was thrown'
  const { code, originalCode, responseCode, command } = error as Error & Record<string, unknown>
  // For a refused or malformed statement, Postgres names relations and columns, not values.
  if (typeof code === 'string' && /^42/.test(code)) return `${error.name} ${code}: ${error.message}`
  const inner = error.cause instanceof Error ? ` (${describeError(error.cause)})` : ''
  // nodemailer puts the failed SMTP command here. Other libraries put an object here, which could hold secrets.
  const parts = [
    error.name,
    code,
    originalCode,
    responseCode,
    typeof command === 'string' ? command : undefined,
  ]
  return `${parts.filter((part) => part !== undefined).join(' ')}${inner}`
}

/** The server (host and port) that an error names; undefined when it names none. */
export function serverOf(error: unknown): string | undefined {
  const { server } = (error ?? {}) as { server?: unknown }
  return typeof server === 'string' ? server : undefined
}

/** Where an error was thrown: the top five frames of its stack, without the message above them. */
export function originOf(error: unknown): string[] {
  const lines = error instanceof Error ? (error.stack ?? '').split('\n') : []
  return lines
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 5)
    .map((line) => line.trim())
}

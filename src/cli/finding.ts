/** The result of one check: a sentence, and for a fault what to do. */
export interface Finding {
  check: string
  ok: boolean
  says: string
  advice?: string
}

/** A finding as text: a tick or a cross, and below a cross what to do. */
export const lineOf = ({ ok, says, advice }: Finding): string =>
  ok ? `✓ ${says}` : `✗ ${says}${advice ? `\n  → ${advice}` : ''}`

/** Runs one check; an error that it throws becomes the finding. */
export async function check(name: string, advice: string, work: () => Promise<string>): Promise<Finding> {
  try {
    return { check: name, ok: true, says: await work() }
  } catch (error) {
    return { check: name, ok: false, says: messageOf(error).replace(/\s*\n[\s-]*/g, ' '), advice }
  }
}

/** When a host name has several addresses, node throws an AggregateError with an empty message. */
const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  return (error instanceof Error && error.message) || String(error)
}

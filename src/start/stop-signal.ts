const hardLimitMs = 30_000
/** Under npm, Ctrl-C arrives twice: from the terminal and from npm. */
const sameSignalMs = 1_000

/**
 * Runs `stop` at the first SIGTERM or SIGINT, then exits 0. A second signal that comes a second or more later exits at
 * once. So does a `stop` that takes 30 s longer than `delayMs`, the time it goes on serving.
 */
export function onStopSignal(stop: (signal: NodeJS.Signals) => Promise<void>, delayMs = 0): void {
  let begun: number | undefined
  const begin = async (signal: NodeJS.Signals) => {
    if (begun !== undefined && performance.now() - begun < sameSignalMs) return
    if (begun !== undefined) process.exit(130)
    begun = performance.now()
    setTimeout(() => process.exit(1), delayMs + hardLimitMs).unref()
    try {
      await stop(signal)
      process.exit(0)
    } catch (error) {
      reportAndExit(error)
    }
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, begin)
}

/** Why something failed, for an operator: the message and those of its causes. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? [error.message, ...causes(error.cause)].join('\n  because: ') : String(error)

/** Prints why the process cannot go on, for an operator, and exits 1. */
export function reportAndExit(error: unknown): never {
  console.error(reasonOf(error))
  process.exit(1)
}

const causes = (cause: unknown): string[] =>
  cause instanceof Error ? [cause.message, ...causes(cause.cause)] : []

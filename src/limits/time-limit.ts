/**
 * Gives what `work` gives, or after `ms` milliseconds what `late` gives or throws. It does not stop `work`: a rejection
 * that comes later is ignored.
 */
export function withTimeLimit<T>(ms: number, work: Promise<T>, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms))
  }).then(late)
  work.catch(() => undefined)
  return Promise.race([work, expired]).finally(() => clearTimeout(timer))
}

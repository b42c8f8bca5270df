/**
 * The CPU time (ms) that this process uses until `work` is done. A limit on it finds code that computes too long, and
 * does not fail because the machine is busy.
 */
export async function cpuTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

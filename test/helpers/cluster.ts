import { startTestCluster, type TestCluster } from '../../tools/tests/test-cluster.ts'

/** The cluster of this process, when no address is given: the number of its users, and the function that stops it. */
let own: Promise<TestCluster> | undefined
let users = 0

/**
 * The superuser's address of a Postgres for tests: TEST_DATABASE_URL, which `npm test` sets, else that of a new cluster
 * of this process. Call `release` in a teardown. The last call stops and removes the cluster.
 */
export async function superuserUrl(): Promise<{ url: string; release(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  if (given) return { url: given, release: async () => undefined }
  users++
  own ??= startTestCluster()
  const { superuserUrl: url, remove } = await own
  return {
    url,
    release: async () => {
      if (--users > 0) return
      own = undefined
      await remove()
    },
  }
}

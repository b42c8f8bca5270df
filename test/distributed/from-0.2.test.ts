import t from 'tap'
import { listPlaces, stateOf } from '../../src/database/cluster/distribution.ts'
import { findCitus, startCitusCluster } from '../../tools/tests/citus-cluster.ts'
import { callCli } from '../cli/run-cli.ts'
import { query, withClient } from '../helpers/query.ts'
import { catalogueOf } from '../upgrade/release-0.2/catalogue.ts'
import { restore, secretKey, settingsFor } from '../upgrade/release-0.2/restore.ts'
import { servesWhatIsKept } from '../upgrade/release-0.2/sign-in.ts'

// A distributed database of release 0.2, on a coordinator and two nodes of its own: test/upgrade/release-0.2/make.ts.

const programs = await findCitus(process.env.CITUS_BIN)
const skip = programs ? false : 'Citus is not installed'

t.test('a distributed database of 0.2 is migrated, and is as a fresh one', { skip }, async (t) => {
  const { superuserUrls, remove } = await startCitusCluster(programs!, 3)
  t.teardown(remove)
  const [old, fresh] = [await withNodes(superuserUrls, 'old'), await withNodes(superuserUrls, 'fresh')]
  for (const role of ['owner', 'api', 'system', 'worker'])
    await query(old, `create role bailiwick_${role} login`)
  const settings = (url: string) => ({
    NODE_ENV: 'test',
    SECRET_KEYS: secretKey,
    DATABASE_DISTRIBUTED: 'true',
    DATABASE_URL: url,
    ...settingsFor(url),
  })
  await restore(old, 'citus')
  const state = async (url: string) => stateOf(await withClient(url, listPlaces))
  t.equal(await state(old), 'distributed')

  const migrated = await callCli(['migrate'], { env: settings(old) })
  t.match(migrated, { code: 0, out: /^Applied 0100-baseline, 0091-/ }, migrated.said)
  t.equal(await state(old), 'distributed')
  for (const command of ['migrate', 'distribute']) {
    const done = await callCli([command], { env: settings(fresh) })
    t.equal(done.code, 0, done.said)
  }
  // Citus loses the comments of tables that it moves.
  const catalogue = async (url: string) =>
    (await withClient(url, catalogueOf)).filter((line) => !line.startsWith('comment on '))
  t.same(await catalogue(old), await catalogue(fresh))
  await servesWhatIsKept(t, 'citus', settings(old))
})

/** Creates a database on all servers, with the first as its coordinator; gives its address. */
async function withNodes(servers: string[], name: string): Promise<string> {
  for (const server of servers) await query(server, `create database ${name}`)
  const urls = servers.map((server) => Object.assign(new URL(server), { pathname: `/${name}` }))
  for (const { href } of urls) await query(href, 'create extension citus')
  const [coordinator, ...nodes] = urls
  await query(
    coordinator!.href,
    `select citus_set_coordinator_host('127.0.0.1', ${coordinator!.port})`,
    ...nodes.map(({ port }) => `select citus_add_node('127.0.0.1', ${port})`),
  )
  return coordinator!.href
}

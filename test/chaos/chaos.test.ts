import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'

const entry = join(import.meta.dirname, '..', '..', 'src', 'start', 'entry.cjs')

for (const queues of ['postgres', 'redis'])
  t.test(`nothing acknowledged is lost under faults, with the queues on ${queues}`, async (t) => {
    const options = ['--quick', '--json', ...(queues === 'redis' ? ['--redis'] : [])]
    const child = spawn(process.execPath, [entry, 'chaos', ...options], {
      env: bareEnv,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    const { found, acknowledged } = JSON.parse(printed)
    t.match(found, {
      writes_lost: 0,
      events_lost: 0,
      deliveries_lost: 0,
      deliveries_out_of_order: 0,
      mails_lost: 0,
    })
    t.ok(
      acknowledged.roles > 50 && found.deliveries > acknowledged.roles && found.mails >= acknowledged.people,
    )
    t.equal(code, 0, printed)
  })

import { pino } from 'pino'
import t from 'tap'
import { untilRecorded } from '../../../src/messages/outbox/until-recorded.ts'

const log = pino({ level: 'silent' })

t.test(
  'an effect is recorded once Postgres answers, within the 20 s that a stopping worker waits',
  async (t) => {
    let passed = 0
    t.intercept(performance, 'now', { value: () => passed })
    /** Fails after `ms`, then succeeds. */
    const record = (ms: number) => {
      let tries = 0
      return async () => {
        if (tries++ > 0) return tries
        passed += ms
        throw Object.assign(new Error('away'), { code: '08006' })
      }
    }
    t.equal(await untilRecorded(log, {}, record(20_000)), 2)
    await t.rejects(untilRecorded(log, {}, record(20_001)), { code: '08006' })
  },
)

import t from 'tap'
import { processorClock } from '../../src/limits/processor-time.ts'

/** A thread that works, and gets a processor for a part of the time. */
const threadOn = () => {
  const use = { now: 0, active: 0, cpu: 0 }
  const clock = processorClock(
    () => ({ ...use }),
    () => use.now,
  )
  const work = (ms: number, share: number) => {
    const begun = clock()
    for (let time = 0; time < ms; time++) {
      use.now++
      use.active++
      use.cpu += share
      clock()
    }
    return Math.round(clock() - begun)
  }
  const rest = (ms: number) => {
    use.now += ms
    clock()
  }
  return { work, rest }
}

t.test('where a thread has a processor, its time is real time', async (t) => {
  const { work } = threadOn()
  t.equal(work(1_000, 1), 1_000)
})

t.test('on a loaded machine, only the time with a processor counts', async (t) => {
  const { work } = threadOn()
  work(100, 0.25)
  t.equal(work(1_000, 0.25), 250)
  work(100, 1)
  t.equal(work(1_000, 1), 1_000, 'and again all of it when the load is gone')
})

t.test('a time without work says nothing of the load', async (t) => {
  const { work, rest } = threadOn()
  work(100, 0.5)
  rest(5_000)
  t.equal(work(10, 0.5), 5)
})

t.test('a system that tells no time of threads does not lift the limits', async (t) => {
  const { work } = threadOn()
  work(100, 0)
  t.equal(work(1_000, 0), 100)
})

/** What a thread does, in the order of one evaluation. */
export const state = { starting: 0, idle: 1, posted: 2, running: 3, done: 4 } as const

/** What a module said, or why it failed. */
export type ModuleAnswer = { findings: string[] } | { failed: string }

/** The bytes of the longest input and of the longest answer. */
export const maxInputBytes = 64 * 1024
export const maxAnswerBytes = 32 * 1024

const controlBytes = 16
const clockBytes = 24

/** The memory that a thread shares with its owner: the state, the id of the thread, lengths, CPU time, input, answer. */
export const sharedMemory = (): SharedArrayBuffer =>
  new SharedArrayBuffer(controlBytes + clockBytes + maxInputBytes + maxAnswerBytes)

export type Exchange = ReturnType<typeof openExchange>

/** Reads and writes the shared memory. The side that changes the state last owns the rest. */
export function openExchange(shared: SharedArrayBuffer) {
  const control = new Int32Array(shared, 0, controlBytes / 4)
  const clock = new Float64Array(shared, controlBytes, 3)
  const inputs = Buffer.from(shared, controlBytes + clockBytes, maxInputBytes)
  const answers = Buffer.from(shared, controlBytes + clockBytes + maxInputBytes, maxAnswerBytes)
  const move = (to: number) => {
    Atomics.store(control, 0, to)
    Atomics.notify(control, 0)
  }
  return {
    control,
    /** The thread is ready; `tid` is its id in Linux, else 0. */
    ready(tid: number) {
      control[1] = tid
      move(state.idle)
    },
    /** The owner gives the thread an input of at most `maxInputBytes`. */
    post(input: string) {
      control[2] = inputs.write(input, 'utf8')
      move(state.posted)
    },
    input: () => inputs.subarray(0, control[2]),
    /** The thread has a query, and instantiates the module if it has to. */
    take() {
      clock[0] = cpuUs()
    },
    /** The thread begins to evaluate. */
    begin() {
      clock[1] = cpuUs()
      move(state.running)
    },
    /** The CPU time of the thread when it began to evaluate, in ms. */
    cpuAtBegin: () => (clock[1] as number) / 1000,
    threadId: () => control[1] as number,
    /** The CPU time of the last query, with its instance, in ms. */
    usedMs: () => Math.max(0, (clock[2] as number) - (clock[0] as number)) / 1000,
    answer(answer: ModuleAnswer) {
      clock[2] = cpuUs()
      control[3] = answers.write(JSON.stringify(answer), 'utf8')
      move(state.done)
    },
    read: (): ModuleAnswer => JSON.parse(answers.toString('utf8', 0, control[3])),
  }
}

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

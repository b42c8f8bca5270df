import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

// Replaces async-hook-domain, which tap uses to find the test that an uncaught error belongs to. That package follows
// every promise by async hooks, a fifth of the computing time of the tests. AsyncLocalStorage costs almost nothing.

/** Receives the error and its type: uncaughtException or unhandledRejection. */
type OnError = (error: unknown, type: string) => void

const current = new AsyncLocalStorage<Domain>()
let root: Domain | undefined

process.on('uncaughtException', (error, type) => {
  let domain = current.getStore()
  while (domain?.destroyed) domain = domain.parent
  domain ??= root
  if (domain) return domain.onerror(error, type)
  console.error(error)
  process.exit(1)
})

/** One per test. tap creates it inside the AsyncResource of the test, in which it later runs the test. */
export class Domain {
  readonly onerror: OnError
  readonly parent = current.getStore()
  destroyed = false

  constructor(onerror: OnError) {
    this.onerror = onerror
    root ??= this
    const test = executionAsyncResource()
    if (!(test instanceof AsyncResource)) return
    const { runInAsyncScope } = test
    Object.assign(test, {
      runInAsyncScope: (work: (...args: unknown[]) => unknown, self: unknown, ...args: unknown[]) =>
        runInAsyncScope.call(test, () => current.run(this, () => work.apply(self, args))),
    })
  }

  destroy(): void {
    this.destroyed = true
  }
}

import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

// Stands in for async-hook-domain, by which tap finds the test that an uncaught error belongs to. That follows every
// promise by async hooks, which is a fifth of what the tests compute; AsyncLocalStorage costs next to nothing.

/** What was thrown, and how: uncaughtException or unhandledRejection. */
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

/** One per test. tap makes it inside of the test's AsyncResource, in which it runs the test later. */
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

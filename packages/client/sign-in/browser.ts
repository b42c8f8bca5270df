/** Who is signed in, as `…/session` of the application's sign-in says. */
export interface BrowserSession {
  userId: string
  tenantId: string
  /** Those of the ID token, by the scopes. */
  claims: Record<string, unknown>
}

export interface SessionWatch {
  /** Who is signed in; null for no one. Asks your server when that is not known, once for all callers and tabs. */
  get(): Promise<BrowserSession | null>
  /** Is told who is signed in, now and at each change in any tab. Gives the function that ends it. */
  subscribe(listener: (session: BrowserSession | null) => void): () => void
  /** Leaves for the sign-in pages, and comes back to this page or to another path. */
  signIn(returnTo?: string): void
  /** Signs out in all tabs, and leaves for the page that says so. */
  signOut(): Promise<void>
}

/** `due`: ms since 1970 by the clock of this browser. */
interface Known {
  session: BrowserSession | null
  due: number
}

/** Watches the session of `createSignIn` with the same `path`, in a page. While the page is visible, it keeps it fresh. */
export function watchSession({ path = '/auth' } = {}): SessionWatch {
  const name = `bailiwick ${path}`
  const channel = new BroadcastChannel(name)
  const listeners = new Set<(session: BrowserSession | null) => void>()
  let known: Known | undefined
  let asking: Promise<BrowserSession | null> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const isFresh = () => known !== undefined && (known.session === null || known.due > Date.now())
  const learn = (next: Known) => {
    const changed = !known || JSON.stringify(known.session) !== JSON.stringify(next.session)
    known = next
    plan(next.due)
    if (changed) for (const listener of listeners) listener(next.session)
  }
  const plan = (due: number) => {
    clearTimeout(timer)
    if (known?.session) timer = setTimeout(look, Math.min(Math.max(due - Date.now(), 5_000), 86_400_000))
  }
  const look = () => {
    // A server that does not answer says nothing about the session.
    if (!document.hidden && !isFresh()) check().catch(() => plan(Date.now() + 30_000))
  }
  const publish = (next: Known) => {
    learn(next)
    channel.postMessage(next)
  }
  const ask = async () => {
    // Another tab may have asked while this one waited.
    if (isFresh()) return known!.session
    const answer = await fetch(`${path}/session`, { cache: 'no-store' })
    if (!answer.ok) throw new Error(`${path}/session answered ${answer.status}.`)
    const body: (BrowserSession & { expiresIn: number }) | null = await answer.json()
    if (!body) publish({ session: null, due: 0 })
    else {
      const { expiresIn, ...session } = body
      publish({ session, due: Date.now() + expiresIn * 1_000 })
    }
    return known!.session
  }
  // The message of the tab that had the lock may arrive after the lock does.
  const askNext = async () => {
    if (!isFresh())
      await new Promise((resolve) => {
        channel.addEventListener('message', resolve, { once: true })
        setTimeout(resolve, 500)
      })
    return ask()
  }
  const check = () => {
    asking ??= navigator.locks
      .request(name, { ifAvailable: true }, (lock) => (lock ? ask() : navigator.locks.request(name, askNext)))
      .finally(() => {
        asking = undefined
      })
    return asking
  }

  channel.addEventListener('message', ({ data }: MessageEvent<Known>) => learn(data))
  document.addEventListener('visibilitychange', look)
  return {
    get: async () => (isFresh() ? known!.session : check()),
    subscribe(listener) {
      listeners.add(listener)
      if (known) listener(known.session)
      else look()
      return () => void listeners.delete(listener)
    },
    signIn(returnTo = location.pathname + location.search) {
      location.assign(`${path}/sign-in?${new URLSearchParams({ return_to: returnTo })}`)
    },
    async signOut() {
      const answer = await fetch(`${path}/session`, { method: 'DELETE' })
      if (!answer.ok) throw new Error(`${path}/session answered ${answer.status}.`)
      const { to } = await answer.json()
      publish({ session: null, due: 0 })
      location.assign(to)
    },
  }
}

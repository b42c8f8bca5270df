import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { AccessEngine } from './engine.ts'

/** An engine that another one can replace between two decisions. */
export interface SwappableEngine extends AccessEngine {
  swap(next: AccessEngine): void
}

/** Makes an engine replaceable. */
export function swappableEngine(first: AccessEngine): SwappableEngine {
  let current = first
  return {
    decide: (query) => current.decide(query),
    explain: (query, policies) => current.explain(query, policies),
    plan: (query) => current.plan(query),
    warmModules: (modules) => current.warmModules(modules),
    trials: {
      decide: (query) => current.trials.decide(query),
      explain: (query, policies) => current.trials.explain(query, policies),
      plan: (query) => current.trials.plan(query),
      warmModules: (modules) => current.trials.warmModules(modules),
    },
    get revision() {
      return current.revision
    },
    get bundle() {
      return current.bundle
    },
    swap(next) {
      current = next
    },
  }
}

interface Watched {
  /** the bundle; a build replaces it as a whole */
  path: string
  /** the rules of the installation (POLICIES_DIR) */
  folder: string | undefined
  open(): Promise<AccessEngine>
  /** what happened, as one line; `revision` is that of the engine in use */
  say(line: string, revision: string): void
}

const quietMs = 100

/**
 * Opens the bundle again when a build has replaced it, and swaps the engine. If it cannot be opened (it is damaged, older
 * than its sources, or gives a wrong answer to a golden case), the engine in use stays. For development. Returns a
 * function that ends it.
 */
export function watchBundle(engine: SwappableEngine, { path, folder, open, say }: Watched): () => void {
  let timer: NodeJS.Timeout | undefined
  const reload = async () => {
    try {
      const next = await open()
      if (next.revision === engine.revision) return
      engine.swap(next)
      say(`policies ${next.revision.slice(0, 12)} in use`, next.revision)
    } catch (error) {
      const kept = engine.revision.slice(0, 12)
      say(`policies ${kept} stay in use: ${(error as Error).message}`, engine.revision)
    }
  }
  const soon = () => {
    clearTimeout(timer)
    timer = setTimeout(reload, quietMs)
  }
  const ofBundle = (_event: string, name: string | null) => {
    if (name === basename(path)) soon()
  }
  const watchers = [
    watch(dirname(path), ofBundle),
    ...(folder === undefined ? [] : [watch(folder, { recursive: true }, soon)]),
  ]
  // The service does not have to wait for them to end.
  for (const watcher of watchers) watcher.unref()
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

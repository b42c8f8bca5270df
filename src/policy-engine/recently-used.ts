/** Values by key, as many as fit. */
export interface RecentlyUsed<V> {
  /** The value, which now is the one used last. */
  get(key: string): V | undefined
  /** Keeps a value that takes `size`, anew or again; those used longest ago make room for it, at last all others. */
  set(key: string, value: V, size: number): void
  /** what all of them take together */
  size(): number
}

/** Keeps values whose sizes add up to `limit` at most, the last one in any case. */
export function keepRecentlyUsed<V>(limit: number): RecentlyUsed<V> {
  // A map remembers the order in which keys were set.
  const kept = new Map<string, { value: V; size: number }>()
  let total = 0

  return {
    get(key) {
      const found = kept.get(key)
      if (!found) return undefined
      kept.delete(key)
      kept.set(key, found)
      return found.value
    },
    set(key, value, size) {
      total += size - (kept.get(key)?.size ?? 0)
      kept.delete(key)
      kept.set(key, { value, size })
      for (const [oldest, { size: freed }] of kept) {
        if (total <= limit || oldest === key) return
        kept.delete(oldest)
        total -= freed
      }
    },
    size: () => total,
  }
}

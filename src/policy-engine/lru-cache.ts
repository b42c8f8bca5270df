/** A cache that evicts the least recently used values. */
interface LruCache<V> {
  /** The value, which becomes the most recently used. */
  get(key: string): V | undefined
  /** Adds or replaces a value of this size. Evicts the least recently used values if needed, but never this one. */
  set(key: string, value: V, size: number): void
  delete(key: string): void
  /** the sum of all sizes */
  size(): number
}

/** Creates a cache whose sizes add up to at most `limit`; a single larger value is kept alone. */
export function createLruCache<V>(limit: number): LruCache<V> {
  // A Map iterates in insertion order, so the first key is the least recently used.
  const kept = new Map<string, { value: V; size: number }>()
  let total = 0
  const remove = (key: string) => {
    total -= kept.get(key)?.size ?? 0
    kept.delete(key)
  }

  return {
    get(key) {
      const found = kept.get(key)
      if (!found) return undefined
      kept.delete(key)
      kept.set(key, found)
      return found.value
    },
    set(key, value, size) {
      remove(key)
      total += size
      kept.set(key, { value, size })
      for (const oldest of kept.keys()) {
        if (total <= limit || oldest === key) return
        remove(oldest)
      }
    },
    delete: remove,
    size: () => total,
  }
}

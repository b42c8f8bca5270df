/** The ms that work may take in a window of real time: of one person over all tenants, of one tenant, and of the process. */
export interface TimeShare {
  windowMs: number
  person: number
  tenant: number
  process: number
}

interface Who {
  userId: string
  tenantId: string
}

/** One person leaves the rest of a tenant's time to its other members: otherwise one alone could use up all of it. */
const personalShare = 0.75

/** Counts the time that work took in the current window. */
export interface TimeUsed {
  add(by: Who, ms: number): void
  ofPerson(userId: string): number
  /**
   * 0 while there is time left for this person in this tenant; otherwise the ms until the next window. When the time of the
   * process is used up, those who took less than an equal part of it go on.
   */
  msUntilLeft(by: Who): number
}

/** Starts to count. `now` gives ms. */
export function timeUsed({ windowMs, person, tenant, process }: TimeShare, now: () => number): TimeUsed {
  let window = 0
  let total = 0
  let persons = new Map<string, number>()
  let tenants = new Map<string, number>()
  /** of each person in each tenant */
  let parts = new Map<string, number>()
  const startWindow = () => {
    const current = Math.floor(now() / windowMs)
    if (current === window) return
    window = current
    total = 0
    persons = new Map()
    tenants = new Map()
    parts = new Map()
  }
  const ofPerson = (userId: string) => {
    startWindow()
    return persons.get(userId) ?? 0
  }
  return {
    add({ userId, tenantId }, ms) {
      persons.set(userId, ofPerson(userId) + ms)
      tenants.set(tenantId, (tenants.get(tenantId) ?? 0) + ms)
      const part = partOf(userId, tenantId)
      parts.set(part, (parts.get(part) ?? 0) + ms)
      total += ms
    },
    ofPerson,
    msUntilLeft({ userId, tenantId }) {
      const mine = ofPerson(userId)
      const isProcessUsed = total >= process && mine >= process / Math.max(1, persons.size)
      const isTenantUsed =
        (tenants.get(tenantId) ?? 0) >= tenant ||
        (parts.get(partOf(userId, tenantId)) ?? 0) >= tenant * personalShare
      return mine >= person || isTenantUsed || isProcessUsed ? (window + 1) * windowMs - now() : 0
    },
  }
}

const partOf = (userId: string, tenantId: string) => `${userId} ${tenantId}`

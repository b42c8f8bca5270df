/**
 * Lets one caller go on in each turn of the event loop, in order. Of a burst that arrives at once, one is handled before the
 * loop looks at other connections again.
 */
export function createLoopTurns(): () => Promise<void> | undefined {
  const waiting: (() => void)[] = []
  let taken = false
  const take = () => {
    taken = true
    setImmediate(endTurn)
  }
  const endTurn = () => {
    taken = false
    const goOn = waiting.shift()
    if (!goOn) return
    take()
    goOn()
  }
  return () => {
    if (taken) return new Promise((goOn) => waiting.push(goOn))
    take()
  }
}

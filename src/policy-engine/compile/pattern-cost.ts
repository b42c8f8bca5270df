import { bundleName, policiesFolder, readBundle } from '../evaluate/bundle.ts'
import { compileModule, inputText, type PolicyInstance } from '../evaluate/module.ts'
import type { FaultCode } from './policy-document.ts'

const longestPattern = 256
/** The most one match may take, in µs; an ordinary pattern takes 6 to 20. */
export const patternBudgetUs = 200

/**
 * What is wrong with a pattern (RE2), undefined where nothing is. Where its cost is not asked for, what it costs
 * was measured before.
 */
export function patternFault(
  pattern: string,
  costUs?: (pattern: string) => number | undefined,
): { code: FaultCode; detail: string } | undefined {
  if (pattern.length > longestPattern) {
    return { code: 'too_large', detail: `A pattern has at most ${longestPattern} characters.` }
  }
  if (!pattern.isWellFormed() || pattern.includes('\0') || oddities.test(pattern)) {
    return {
      code: 'invalid',
      detail: 'A pattern has no NUL, no \\C and no (?<: write (?P<name>…) for a named group.',
    }
  }
  if (!costUs) return undefined
  const cost = costUs(pattern)
  if (cost === undefined) return { code: 'invalid', detail: 'This is not a pattern in the syntax of RE2.' }
  if (cost <= patternBudgetUs) return undefined
  return {
    code: 'too_costly',
    detail: 'Matching this pattern takes too long: use fewer or smaller repetitions.',
  }
}

// The module takes these otherwise than the tests of the policies do, so nobody could say what they mean.
const oddities = /\(\?<|(?<!\\)(?:\\\\)*\\C/

const ascii = 'The quick brown fox 0123456789 jumps_over-the.lazy@dog '.repeat(20).slice(0, 1024)
const beyond = 'Größe Ωμέγα 你好 مرحبا 🙂 '.repeat(40).slice(0, 512)
const littleMemory = 32

/**
 * Gives the function that measures a pattern, in µs: compiled and matched once against 1 KB of text, in an
 * instance of 2 MiB that is thrown away. Infinite where it does not even fit; undefined for what is no pattern.
 * The first pattern waits for the module: most processes never meet one.
 */
export function patternCost(bundlePath?: string): (pattern: string) => number | undefined {
  let measured: ((pattern: string) => number | undefined) | undefined
  return (pattern) => {
    measured ??= warmMeter(bundlePath)
    return measured(pattern)
  }
}

function warmMeter(bundlePath = `${policiesFolder}${bundleName}`): (pattern: string) => number | undefined {
  const instantiate = compileModule({ ...readBundle(bundlePath), data: { catalogue: {} } }, littleMemory)
  const measured = (pattern: string): number | undefined => {
    try {
      return measure(instantiate(), pattern)
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }
  for (let time = 0; time < 50; time++) measured('^warm[a-z]+')
  return measured
}

const noSlice = { text: 'null' }

// The least of several runs, because the machine does other things, too: one run that was interrupted says
// nothing. A pattern that takes long is given fewer, not just one.
function measure(instance: PolicyInstance, pattern: string): number | undefined {
  let least = Number.POSITIVE_INFINITY
  const first = performance.now()
  for (let time = 0; time < 12 && least > patternBudgetUs / 2; time++) {
    if (time >= 3 && performance.now() - first > 100) return least
    const begun = performance.now()
    for (const text of [ascii, beyond]) {
      const trial = instance.evaluate('authz/pattern/trial', inputText({ pattern, text }), noSlice) as {
        valid: boolean
      }
      if (!trial.valid) return undefined
    }
    least = Math.min(least, (performance.now() - begun) * 500)
  }
  return least
}

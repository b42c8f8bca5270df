import { bundleName, policiesFolder, readBundle } from '../evaluate/bundle.ts'
import { inputText, instantiatorOf, type PolicyInstance } from '../evaluate/policy-instance.ts'
import type { FaultCode } from './policy-document.ts'

const longestPattern = 256
/** The limit for one match, in µs; an ordinary pattern takes 6 to 20. */
export const maxPatternUs = 200

/** The fault of a pattern (RE2), or undefined. Without `costUs` the pattern was measured before. */
export function patternFault(
  pattern: string,
  costUs?: (pattern: string) => number | undefined,
): { code: FaultCode; detail: string } | undefined {
  if (pattern.length > longestPattern) {
    return { code: 'too_large', detail: `A pattern can have at most ${longestPattern} characters.` }
  }
  if (!pattern.isWellFormed() || pattern.includes('\0') || ambiguous.test(pattern)) {
    return {
      code: 'invalid',
      detail: 'A pattern cannot contain NUL, \\C or (?<. Write (?P<name>…) for a named group.',
    }
  }
  if (!costUs) return undefined
  const cost = costUs(pattern)
  if (cost === undefined) return { code: 'invalid', detail: 'This is not a valid RE2 pattern.' }
  if (cost <= maxPatternUs) return undefined
  return {
    code: 'too_costly',
    detail: 'Matching this pattern takes too long: use fewer or smaller repetitions.',
  }
}

// The compiled module and `opa test` read these differently.
const ambiguous = /\(\?<|(?<!\\)(?:\\\\)*\\C/

const ascii = 'The quick brown fox 0123456789 jumps_over-the.lazy@dog '.repeat(20).slice(0, 1024)
const beyond = 'Größe Ωμέγα 你好 مرحبا 🙂 '.repeat(40).slice(0, 512)
const meterPages = 32

/**
 * Returns a function that measures a pattern in µs: it compiles the pattern and matches it once against 1 KB of text,
 * in a new instance of 2 MiB. Infinity if the pattern does not fit, undefined if it is invalid. The module is loaded
 * with the first pattern, because most processes never measure one.
 */
export function patternCost(bundlePath?: string): (pattern: string) => number | undefined {
  let measured: ((pattern: string) => number | undefined) | undefined
  return (pattern) => {
    measured ??= warmMeter(bundlePath)
    return measured(pattern)
  }
}

function warmMeter(bundlePath = `${policiesFolder}${bundleName}`): (pattern: string) => number | undefined {
  const instantiate = instantiatorOf(
    { ...readBundle(bundlePath), data: { catalogue: {}, attributes: {}, rules: { look_at_resource: [] } } },
    meterPages,
  )
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

// The shortest of several runs, because other work on the machine can interrupt a run. A slow pattern gets fewer
// runs, but more than one.
function measure(instance: PolicyInstance, pattern: string): number | undefined {
  let least = Number.POSITIVE_INFINITY
  const first = performance.now()
  for (let time = 0; time < 12 && least > maxPatternUs / 2; time++) {
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

import { createTapReader, type Result } from './tap-lines.ts'

export type Totals = { passed: number; failed: number; skipped: number }
/** The result of one file; `ms` is its duration. */
export type FileResult = Totals & { file: string; ok: boolean; ms: number }
export type TestReport = {
  read(line: string): void
  skipped: string[]
  /** The printed lines of the failures, with their diagnostics. */
  failures: string[]
  files: FileResult[]
}

const zero = { passed: 0, failed: 0, skipped: 0 }

/**
 * Reads the raw TAP of one process line by line. Prints one line per test file, each failure with its diagnostics, and
 * the output of tests. `skipped` has each skip with its reason, `files` the results so far.
 */
export function createTestReport(print: (line: string) => void): TestReport {
  const parse = createTapReader()
  const skipped: string[] = []
  const failures: string[] = []
  const files: FileResult[] = []
  let counts: Totals = { ...zero }
  let explains = false

  function printFailure(line: string): void {
    failures.push(line)
    print(line)
  }

  function count(result: Result): void {
    const isFile = result.path.length === 1
    const name = result.path.join(' > ')
    if (result.skipped !== undefined) skipped.push(`${name}: ${result.skipped || 'no reason given'}`)
    if (result.skipped !== undefined) counts.skipped++
    else if (result.leaf) counts[result.ok ? 'passed' : 'failed']++
    // A file can fail without a failed assertion: then its own diagnostics explain why.
    const silent = isFile && !result.ok && counts.failed === 0
    if (silent) counts.failed++
    explains = !result.ok && (result.leaf || silent)
    if (explains && !isFile) printFailure(`✗ ${name}`)
    if (!isFile) return
    const file = { ...counts, file: name, ok: result.ok, ms: result.ms ?? 0 }
    files.push(file)
    const printResult = silent ? printFailure : print
    printResult(describeFile(file))
    counts = { ...zero }
  }

  return {
    skipped,
    failures,
    files,
    read(text) {
      const line = parse(text)
      if (line.kind === 'result') count(line.result)
      else if (line.kind === 'diagnostic' && explains) printFailure(line.text)
      else if (line.kind === 'foreign') print(line.text)
    },
  }
}

/** The result of a file, as one line. */
export function describeFile({ ok, file, ms, passed, failed, skipped }: FileResult): string {
  const counts = [`${passed} passed`, failed && `${failed} failed`, skipped && `${skipped} skipped`]
  return `${ok ? '✓' : '✗'} ${file}  ${counts.filter(Boolean).join(', ')}  ${(ms / 1000).toFixed(1)} s`
}

/** The totals of all files. */
export const totalsOf = (files: readonly FileResult[]): Totals =>
  files.reduce(
    (sum, { passed, failed, skipped }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
    }),
    zero,
  )

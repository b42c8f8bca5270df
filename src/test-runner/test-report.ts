import { createTapReader, type Result } from './tap-lines.ts'

export type Totals = { passed: number; failed: number; skipped: number }
/** What came of one file; `ms` is how long it took. */
export type FileResult = Totals & { file: string; ok: boolean; ms: number }
export type TestReport = { read(line: string): void; skipped: string[]; files: FileResult[] }

const zero = { passed: 0, failed: 0, skipped: 0 }

/**
 * Reads the raw TAP of one process line by line and prints one line per test file, every failure with its diagnostics,
 * and what tests print. `skipped` names each skip and its reason, `files` is what came of each file so far.
 */
export function createTestReport(print: (line: string) => void): TestReport {
  const parse = createTapReader()
  const skipped: string[] = []
  const files: FileResult[] = []
  let counts: Totals = { ...zero }
  let explains = false

  function count(result: Result): void {
    const isFile = result.path.length === 1
    const name = result.path.join(' > ')
    if (result.skipped !== undefined) skipped.push(`${name}: ${result.skipped || 'no reason given'}`)
    if (result.skipped !== undefined) counts.skipped++
    else if (result.leaf) counts[result.ok ? 'passed' : 'failed']++
    // A file that fails without a failed assertion in it has to say why itself.
    const silent = isFile && !result.ok && counts.failed === 0
    if (silent) counts.failed++
    explains = !result.ok && (result.leaf || silent)
    if (explains && !isFile) print(`✗ ${name}`)
    if (!isFile) return
    const file = { ...counts, file: name, ok: result.ok, ms: result.ms ?? 0 }
    files.push(file)
    print(describeFile(file))
    counts = { ...zero }
  }

  return {
    skipped,
    files,
    read(text) {
      const line = parse(text)
      if (line.kind === 'result') count(line.result)
      else if (line.kind === 'foreign' || (line.kind === 'diagnostic' && explains)) print(line.text)
    },
  }
}

/** One line about a file. */
export function describeFile({ ok, file, ms, passed, failed, skipped }: FileResult): string {
  const counts = [`${passed} passed`, failed && `${failed} failed`, skipped && `${skipped} skipped`]
  return `${ok ? '✓' : '✗'} ${file}  ${counts.filter(Boolean).join(', ')}  ${(ms / 1000).toFixed(1)} s`
}

/** Of all files together. */
export const totalsOf = (files: readonly FileResult[]): Totals =>
  files.reduce(
    (sum, { passed, failed, skipped }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
    }),
    zero,
  )

import { createTapReader, type Result } from './tap-lines.ts'

export type Totals = { passed: number; failed: number; skipped: number }
export type TestReport = { read(line: string): void; skipped: string[]; totals(): Totals | undefined }

/**
 * Reads raw TAP line by line and prints one line per test file, every failure with its diagnostics, and what
 * tests print. `totals` are tap's own, known at the end; `skipped` names each skip and its reason. (tap's short
 * reporters redraw a screen, which fills a CI log, and its stream reporters leave the exit code at 0.)
 */
export function createTestReport(print: (line: string) => void): TestReport {
  const parse = createTapReader()
  const skipped: string[] = []
  let file: Totals = { passed: 0, failed: 0, skipped: 0 }
  let totals: Totals | undefined
  let explains = false

  function count(result: Result): void {
    const isFile = result.path.length === 1
    const name = result.path.join(' > ')
    if (result.skipped !== undefined) skipped.push(`${name}: ${result.skipped || 'no reason given'}`)
    if (result.skipped !== undefined) file.skipped++
    else if (result.leaf) file[result.ok ? 'passed' : 'failed']++
    // A file that fails without a failed assertion in it (a crash, a timeout) has to say why itself.
    explains = !result.ok && (result.leaf || (isFile && file.failed === 0))
    if (explains && !isFile) print(`✗ ${name}`)
    if (!isFile) return
    print(describe(result, file))
    file = { passed: 0, failed: 0, skipped: 0 }
  }

  return {
    skipped,
    totals: () => totals,
    read(text) {
      const line = parse(text)
      if (line.kind === 'result') count(line.result)
      else if (line.kind === 'foreign' || (line.kind === 'diagnostic' && explains)) print(line.text)
      else if (text.startsWith('# { total: ')) totals = totalsIn(text)
    },
  }
}

function describe({ ok, path, ms = 0 }: Result, { passed, failed, skipped }: Totals): string {
  const counts = [`${passed} passed`, failed && `${failed} failed`, skipped && `${skipped} skipped`]
  return `${ok ? '✓' : '✗'} ${path[0]}  ${counts.filter(Boolean).join(', ')}  ${(ms / 1000).toFixed(1)} s`
}

/** `# { total: 9, pass: 4, fail: 1, todo: 1, skip: 3 }`, zeros left out; what is to do was not run either. */
function totalsIn(text: string): Totals {
  const count = (name: string) => Number(new RegExp(` ${name}: (\\d+)`).exec(text)?.[1] ?? 0)
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip') + count('todo') }
}

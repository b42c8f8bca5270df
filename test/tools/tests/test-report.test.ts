import t from 'tap'
import { createTestReport, totalsOf } from '../../../tools/tests/test-report.ts'

function reportOf(tap: string) {
  const printed: string[] = []
  const report = createTestReport((line) => printed.push(line))
  for (const line of tap.split('\n')) report.read(line)
  return { printed, skipped: report.skipped, failures: report.failures, totals: totalsOf(report.files) }
}

t.test('a file that passes is one line, even with nested tests', async (t) => {
  const { printed, totals, skipped } = reportOf(`TAP version 14
1..1
# Subtest: test/a.test.ts
    # Subtest: outer
        # Subtest: inner
            ok 1 - deep
            1..1
        ok 1 - inner # time=1.6ms

        ok 2 - flat
        1..2
    ok 1 - outer # time=5.7ms

    1..1
ok 1 - test/a.test.ts # time=2019.7ms
`)
  t.strictSame(printed, ['✓ test/a.test.ts  2 passed  2.0 s'])
  t.strictSame(totals, { passed: 2, failed: 0, skipped: 0 })
  t.strictSame(skipped, [])
})

t.test('a failure is printed once, with its diagnostics, and the output of a test is kept', async (t) => {
  const { printed, failures, totals } = reportOf(`# Subtest: test/a.test.ts
    printed by the test
    # Subtest: outer
        not ok 1 - is \\#1
          ---
          diff: |
            ok 1 - looks like TAP # SKIP but is not
          ...

        1..1
    not ok 1 - outer # time=5.7ms
      ---
      at: elsewhere
      ...

    1..1
not ok 1 - test/a.test.ts # time=100ms
  ---
  exitCode: 1
  ...
`)
  t.strictSame(printed, [
    '    printed by the test',
    '✗ test/a.test.ts > outer > is #1',
    '          ---',
    '          diff: |',
    '            ok 1 - looks like TAP # SKIP but is not',
    '          ...',
    '✗ test/a.test.ts  0 passed, 1 failed  0.1 s',
  ])
  t.strictSame(failures, printed.slice(1, -1), 'and kept for the end of a long run')
  t.strictSame(totals, { passed: 0, failed: 1, skipped: 0 })
})

t.test('a file that crashed without a failed assertion says why', async (t) => {
  const { printed, failures, totals } = reportOf(`# Subtest: test/a.test.ts
    1..0 # no tests found
not ok 1 - test/a.test.ts # time=100ms
  ---
  exitCode: 1
  ...
`)
  t.strictSame(printed, ['✗ test/a.test.ts  0 passed, 1 failed  0.1 s', '  ---', '  exitCode: 1', '  ...'])
  t.strictSame(failures, printed)
  t.strictSame(totals, { passed: 0, failed: 1, skipped: 0 })
})

t.test('skipped and TODO tests are listed with their reasons, and counted as skipped', async (t) => {
  const { skipped, totals } = reportOf(`# Subtest: test/a.test.ts
    ok 1 - needs Redis # SKIP no Redis here
    # Subtest: group
        ok 1 - for no reason # SKIP
        1..1
    ok 2 - group # time=1ms
    ok 3 - later # TODO when it is there
    1..3
ok 1 - test/a.test.ts # time=100ms`)
  t.strictSame(skipped, [
    'test/a.test.ts > needs Redis: no Redis here',
    'test/a.test.ts > group > for no reason: no reason given',
    'test/a.test.ts > later: when it is there',
  ])
  t.strictSame(totals, { passed: 0, failed: 0, skipped: 3 })
})

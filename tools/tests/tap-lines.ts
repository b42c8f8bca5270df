/**
 * One result of a TAP stream. `path` has its names, from the file down. `leaf` is false for the line that closes a
 * subtest. `skipped` is the reason of SKIP or TODO, and can be empty.
 */
export type Result = { path: string[]; ok: boolean; leaf: boolean; skipped?: string; ms?: number }
export type TapLine =
  | { kind: 'result'; result: Result }
  | { kind: 'diagnostic'; text: string }
  | { kind: 'foreign'; text: string }
  | { kind: 'structure'; text: string }

const RESULT = /^( *)(not )?ok \d+(?: - (.*?))?(?: # (SKIP|TODO)(?: (.*))?| # time=([\d.]+)ms)?$/
const SUBTEST = /^( *)# Subtest: (.*)$/
const STRUCTURE = /^ *(# .*|\d+\.\.\d+( #.*)?|TAP version \d+|[{}]|)$/

/**
 * A reader of TAP 14 as tap writes it: four spaces per level, diagnostics between `---` and `...`. Each call takes one
 * line, without its line end. Lines that are not TAP, such as the output of a test, come back as `foreign`.
 */
export function createTapReader(): (line: string) => TapLine {
  let open: string[] = []
  let inDiagnostic = false
  return (line) => {
    if (inDiagnostic || /^ *---$/.test(line)) {
      inDiagnostic = !/^ *\.\.\.$/.test(line)
      return { kind: 'diagnostic', text: line }
    }
    const subtest = SUBTEST.exec(line)
    if (subtest) {
      open = [...open.slice(0, levelOf(subtest[1])), plain(subtest[2])]
      return { kind: 'structure', text: line }
    }
    const found = RESULT.exec(line)
    if (!found) return { kind: STRUCTURE.test(line) ? 'structure' : 'foreign', text: line }
    const result = resultOf(found, open)
    open = open.slice(0, levelOf(found[1]))
    return { kind: 'result', result }
  }
}

function resultOf(found: RegExpExecArray, open: string[]): Result {
  const [, indent, not, text, directive, reason, time] = found
  const level = levelOf(indent)
  const name = plain(text)
  const leaf = open[level] !== name
  return {
    path: [...open.slice(0, level), name],
    ok: not === undefined,
    leaf,
    ...(directive ? { skipped: plain(reason) } : {}),
    ...(time ? { ms: Number(time) } : {}),
  }
}

function levelOf(indent = ''): number {
  return indent.length / 4
}

function plain(text = ''): string {
  return text.replace(/\\([#\\])/g, '$1')
}

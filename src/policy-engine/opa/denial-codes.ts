import { isReasonCode } from '../evaluate/reasons.ts'
import type { Finding } from './rego-traps.ts'
import { type Module, parseRego } from './rego-tree.ts'

const inFolder = /(^|\/)authz\/invariants\/\w+(?<!_test)\.rego$/
const precedenceFile = 'policies/authz/invariants/precedence.rego'

/**
 * Checks that each denial of the platform has its place in `precedence` and its sentence in reasons.ts: a code without
 * them compiles, and answers 503 in production. `files` are paths from the project's root.
 */
export async function checkDenialCodes(opa: string, files: readonly string[]): Promise<Finding[]> {
  const invariants = files.filter((file) => inFolder.test(file))
  const modules = await Promise.all(
    invariants.map(async (file) => ({ file, module: await parseRego(opa, file) })),
  )
  const ranked = new Set(modules.flatMap(({ module }) => stringsOf(module, /^precedence$/)))
  const findings: Finding[] = []
  const denied = new Set<string>()
  for (const { file, module } of modules)
    for (const { row, code } of denialsOf(module)) {
      const report = (rule: string) => findings.push({ file, row, rule })
      if (code === undefined) {
        report('the code of a denial must be a literal, or a value of a rule _…_codes of this file')
        continue
      }
      denied.add(code)
      if (!ranked.has(code)) report(`the denial "${code}" is missing from precedence in ${precedenceFile}`)
      if (!isReasonCode(code))
        report(`the denial "${code}" has no sentence in src/policy-engine/evaluate/reasons.ts`)
    }
  for (const code of ranked)
    if (!denied.has(code))
      findings.push({
        file: precedenceFile,
        row: 1,
        rule: `no rule denies with "${code}", which precedence names`,
      })
  return findings
}

/** The codes that a file denies with, and the row of each rule; undefined for a code that cannot be read. */
function denialsOf(module: Module): { row: number; code: string | undefined }[] {
  const rules = (module.rules ?? []).filter(({ head }) => head.ref[0]?.value === 'denials')
  const computed = stringsOf(module, /^_\w+_codes$/)
  return rules.flatMap(({ head, location }) => {
    const codes = head.key?.type === 'string' ? [String(head.key.value)] : computed
    return (codes.length > 0 ? codes : [undefined]).map((code) => ({ row: location?.row ?? 0, code }))
  })
}

/** The strings in the value of the rules that are named like this, but keys of objects. */
function stringsOf(module: Module, name: RegExp): string[] {
  const rules = (module.rules ?? []).filter(({ head }) => name.test(String(head.ref[0]?.value)))
  return rules.flatMap(({ head }) => {
    const { type, value } = (head as { value?: { type?: string; value?: unknown } }).value ?? {}
    const items = type === 'object' ? (value as unknown[][]).map(([, item]) => item) : value
    return (Array.isArray(items) ? items : []).flatMap((item: { type?: string; value?: unknown }) =>
      item.type === 'string' ? [String(item.value)] : [],
    )
  })
}

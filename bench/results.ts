import { readFileSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os'

/** A part of RESULTS.md, as Markdown without its title. */
export interface Section {
  title: string
  text: string
}

const file = new URL('RESULTS.md', import.meta.url)
const introduction = `# Results of \`npm run bench -- --write\`

Load generator, API and Postgres share the cores of one machine. So compare ratios and CPU times, not rates. CPU is that of the
server and of Postgres, in ms for each request. The file is written by the benchmark; each section says when and where it was
measured.
`

/** The machine, and how busy it is now: on a busy one rates mean little, and ratios more. */
export function machine(): string {
  const [{ model } = { model: 'unknown processor' }] = cpus()
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const [load = 0] = loadavg()
  return `${availableParallelism()} cores of ${model}, ${memory}, ${platform()} ${arch()}, Node ${process.versions.node}, load average ${load.toFixed(1)} at the start`
}

/** A Markdown table of rows with the same keys. */
export function table(rows: readonly Record<string, string | number>[]): string {
  const names = Object.keys(rows[0] ?? {})
  const line = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`
  return [
    line(names),
    line(names.map(() => '---')),
    ...rows.map((row) => line(names.map((name) => row[name] ?? ''))),
  ].join('\n')
}

/** Puts a section into RESULTS.md, in the place of its former figures. */
export function writeSection({ title, text }: Section, on: string): void {
  const old = read()
  const sections = new Map(
    old
      .split(/^## /m)
      .slice(1)
      .map((part) => [part.split('\n')[0]!, part]),
  )
  const day = new Date().toISOString().slice(0, 10)
  sections.set(title, `${title}\n\n${text}\n\nMeasured on ${day}: ${on}.\n\n`)
  const parts = [...sections.values()].map((part) => `## ${part.trimEnd()}\n`)
  writeFileSync(file, [introduction, ...parts].join('\n'))
}

function read(): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

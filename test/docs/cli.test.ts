import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { helpOf } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'

const path = join(import.meta.dirname, '..', '..', 'docs', 'reference', 'cli.md')
const heading = '\n## Each command\n'

/** The --help of each command, in the form of the document. */
const sections = () =>
  commands.map((command) => `\n### ${command.name}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`).join('')

t.test('docs/reference/cli.md contains the --help of each command', async (t) => {
  const [prose = '', described] = readFileSync(path, 'utf8').split(heading)
  if (process.env.UPDATE_CLI) writeFileSync(path, prose + heading + sections())
  else t.equal(described, sections(), 'UPDATE_CLI=1 updates them')
})

t.test('docs/reference/cli.md names the database roles of each command', async (t) => {
  const rows = readFileSync(path, 'utf8').matchAll(/^\| (`[^|]+) \| ([^|]+) \|$/gm)
  const told = [...rows].flatMap(([, names = '', roles = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => [name, roles] as const),
  )
  const acts = commands.map((command) => {
    const { roles } = command.prepare({ check: true })
    return [command.name, roles.join(', ') || 'none'] as const
  })
  const expected = acts.map(([name, roles]) =>
    name === 'migrate' ? [name, `the login of \`DATABASE_URL\` (\`--check\`: ${roles})`] : [name, roles],
  )
  t.same(Object.fromEntries(told), Object.fromEntries(expected))
})

t.test('every command accepts its example', async (t) => {
  const { readOptions } = await import('../../src/cli/options.ts')
  for (const { name, example, options } of commands) {
    const words = [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')
    t.doesNotThrow(() => readOptions(words, options), name)
  }
})

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { newPolicy } from '../../src/authorization/policies/policy-body.ts'
import { builtInAttributes } from '../../src/policy-engine/catalogue/built-in-attributes.ts'
import { operatorsByType } from '../../src/policy-engine/compile/conditions.ts'
import { startService } from '../helpers/service.ts'

const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'reference', 'policies.md'), 'utf8')

/** The rows, as cells, of the table with this first heading. */
function table(heading: string): string[][] {
  const [, rows = ''] = text.split(`| ${heading} |`)[1]?.split('|\n|---') ?? []
  const lines = rows.split('\n').slice(1)
  const end = lines.findIndex((line) => !line.startsWith('|'))
  return lines.slice(0, end).map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')))
}
const words = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word)

t.test('the table has exactly the fields of a policy', async (t) => {
  t.same(
    table('Field')
      .flatMap(([name]) => words(name))
      .sort(),
    Object.keys(newPolicy.shape).sort(),
  )
})

t.test('the table has the operators of each type', async (t) => {
  const told = Object.fromEntries(
    table('Type').map(([type, operators]) => [words(type)[0], words(operators)]),
  )
  t.same(told, operatorsByType)
})

t.test('the table has exactly the built-in attributes', async (t) => {
  t.same(
    table('Attribute').map(([name, type, value]) => [words(name)[0], type, value]),
    [...builtInAttributes].map(([name, { type, description }]) => [name, type, description]),
  )
})

const service = await startService(t, { workers: false })

t.test('the examples give the answers in their comments', async (t) => {
  const [, examples = ''] = text.split('\n## Examples\n')
  const blocks = [...examples.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? '')
  t.ok(blocks.length >= 6)
  const script = blocks
    .join('\necho; echo "=== end of block"\n')
    .replace('http://localhost:3000', service.url)
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', script])
  const answers = stdout.split('=== end of block')
  for (const [index, block] of blocks.entries())
    for (const [, wanted = ''] of block.matchAll(/^# → (.*)$/gm))
      t.ok(answers[index]?.includes(wanted), `${wanted} is in ${answers[index]?.trim()}`)
})

t.test('the first policy of the page is accepted without warnings', async (t) => {
  const [, document = ''] = /```json\n(.*?)```/s.exec(text) ?? []
  const owner = await service.signUp()
  const { status, body } = await owner.post('/api/v1/policies/', document)
  t.match({ status, body }, { status: 201, body: { warnings: [] } })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { listKnownTables } from '../../src/database/migrate/newer-schema.ts'
import { settings } from '../../src/settings/settings.ts'

const root = join(import.meta.dirname, '..', '..')
const rows = readFileSync(join(root, 'docs', 'reference', 'retention.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| What '))
  .map((line) => line.slice(2, -2).split(' | '))
const named = (cell = '') => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)

t.test('docs/reference/retention.md has a row for every table', async (t) => {
  const tables = await listKnownTables()
  const owned = rows.filter(([, cell]) => !cell?.startsWith('in '))
  t.same(owned.flatMap(([, cell]) => named(cell)).toSorted(), tables.toSorted(), 'each in one row')
})

t.test('it names every setting that limits stored data, with its default', async (t) => {
  const shown = rows.flatMap(([, , , cell = '']) =>
    [...cell.matchAll(/`(\w+)` \(([\d,]+)\)/g)].map(([, name, figure = '']) => [
      name,
      Number(figure.replaceAll(',', '')),
    ]),
  )
  const bounds = Object.entries(settings)
    .filter(([name]) => /_RETENTION_DAYS$|^LIMIT_\w+_(PER_DAY|PER_PERSON|BYTES|VERSIONS)$/.test(name))
    .map(([name, { fallback }]) => [name, fallback])
  t.same(shown.toSorted(), bounds.toSorted())
  for (const [what = '', , , cell = ''] of rows) t.match(cell, /^fixed$|^`\w+` \(/, what)
})

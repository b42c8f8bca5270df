import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { disposableDatabase } from '../helpers/database.ts'
import { withClient } from '../helpers/query.ts'
import { schemaPage } from './schema-page.ts'

const path = join(import.meta.dirname, '..', '..', 'docs', 'reference', 'schema.md')

t.test('docs/reference/schema.md has every table and column, and what their comments say', async (t) => {
  const { urls, drop } = await disposableDatabase()
  t.teardown(drop)
  const page = await withClient(urls.superuser, schemaPage)
  if (process.env.UPDATE_SCHEMA) writeFileSync(path, page)
  const hint = 'UPDATE_SCHEMA=1 npm test -- test/docs/schema.test.ts writes it'
  t.equal(readFileSync(path, 'utf8'), page, hint)
  t.notMatch(page, /^### \w+\n\n\|/m, 'each table has a comment')
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { anyText, defaulted, flag, optional } from '../../src/cli/options.ts'
import { scriptOptions } from '../../src/cli/script-options.ts'
import type { Deps } from '../../src/deps.ts'
import { eventTypes } from '../../src/messages/outbox/event-types.ts'
import { openapiDocument } from '../../src/pages/docs/openapi.ts'
import { readConfig } from '../../src/settings/config.ts'
import { listRoutes } from '../../src/start/app.ts'
import { apiTypes } from './api-types.ts'
import { buildConsole, bundledFiles } from './bundle.ts'
import { namesModule } from './names.ts'
import { takeScreenshots } from './screenshots.ts'

// npm run console: writes the types of the API, which the client publishes, and the names that the pages know, and builds the
// pages. With --check it writes nothing, and exits 1 if a committed file differs from what it would write. With --screenshots it also takes pictures of the
// pages.

const root = join(import.meta.dirname, '..', '..')

/** The types of the API, from the routes. Their functions are not called, so they need no dependencies. */
function generatedTypes(): string {
  const deps = { config: readConfig({}, []) } as Deps
  const routes = listRoutes(deps, { ready: async () => undefined, drain() {} })
  const tested = { 'events.webhook_tested': z.strictObject({ webhook_id: z.uuid() }) }
  return apiTypes(openapiDocument(routes, { publicUrl: '/', version: '0' }), { ...eventTypes, ...tested })
}

const values = scriptOptions('console', {
  check: flag('Only compare the committed files'),
  screenshots: flag('Also write pictures'),
  page: optional('<path>,...', 'Of these pages', (text) => text.split(',')),
  out: defaulted('<folder>', 'Where pictures are written', anyText, join(root, 'docs/images')),
})
const generated: [file: string, text: string][] = [
  [join(root, 'packages/client/api-types.ts'), generatedTypes()],
  [join(root, 'packages/console/api/names.ts'), namesModule()],
]
if (values.check) {
  await bundledFiles()
  const stale = generated.filter(([file, text]) => readFileSync(file, 'utf8') !== text)
  for (const [file] of stale) console.error(`${relative(root, file)} differs. Run: npm run console`)
  process.exitCode = stale.length > 0 ? 1 : 0
} else {
  for (const [file, text] of generated) writeFileSync(file, text)
  console.log((await buildConsole()) ? 'console: built' : 'console: up to date')
}
if (values.screenshots) await takeScreenshots({ folder: values.out, paths: values.page ?? [] })

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { openFirm } from '../directory/open-directory.ts'
import { startService } from '../helpers/service.ts'
import { install } from './programs.ts'

// A tester of SCIM that others wrote. npm run test:interop

const tester = join(import.meta.dirname, 'apps/scim-tester.py')

t.test('scim2-tester finds nothing that is not as the standard says', async (t) => {
  const python = await install.python().catch((error: Error) => error)
  if (python instanceof Error) return void t.plan(0, python.message.split('\n')[0])
  const service = await startService(t, { workers: false })
  const { directory } = await openFirm(service)
  const { stdout } = await promisify(execFile)(python, [tester, service.url, directory.key])
  const { checked, faults } = JSON.parse(stdout)
  t.same(faults, [])
  t.ok(checked > 20, `${checked} checks`)
})

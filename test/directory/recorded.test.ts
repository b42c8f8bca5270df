import t from 'tap'
import { startService } from '../helpers/service.ts'
import { openFirm } from './open-directory.ts'
import { entra } from './recorded/entra.ts'
import { okta } from './recorded/okta.ts'
import { replay } from './recorded/replay.ts'

const service = await startService(t, { workers: false })

for (const [who, sequences] of Object.entries({ Entra: entra, Okta: okta }))
  for (const sequence of sequences)
    t.test(`${who}: ${sequence.name}`, async (t) => {
      const { directory, domain } = await openFirm(service)
      await replay(t, directory, domain, sequence)
    })

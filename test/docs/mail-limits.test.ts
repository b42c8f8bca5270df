import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mailPurposes } from '../../src/messages/mail/template.ts'
import { templates } from '../../src/messages/mail/templates.ts'
import { readConfig } from '../../src/settings/config.ts'

const [, section = ''] = readFileSync(join(import.meta.dirname, '../../SECURITY.md'), 'utf8').split(
  '\n## How much mail a caller can cause\n',
)
const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split(' | '))
const rowOf = (name: string) => rows.filter(([names]) => names!.includes(`\`${name}\``))
const config = readConfig({ NODE_ENV: 'test' })

t.test(
  'SECURITY.md says for each template how many mails an address gets, and what happens beyond',
  async (t) => {
    for (const [name, template] of Object.entries(templates)) {
      const [row, ...more] = rowOf(name)
      t.ok(row && more.length === 0, `${name} is in one row`)
      const [, recipient = '', , beyond = ''] = row ?? []
      if (template.queue === 'notices') {
        t.match(recipient, new RegExp(`^${template.perHour} an hour`), name)
        t.match(beyond, 'Not sent', name)
      } else {
        const { RATE_LIMIT_MAIL_PER_MINUTE: minute, RATE_LIMIT_MAIL_PER_HOUR: hour } = config
        t.match(recipient, new RegExp(`^${minute} a minute(,| and) ${hour} an hour`), name)
        t.match(beyond, '429', name)
      }
    }
    const named = rows.flatMap(([names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name))
    t.same(named.toSorted(), Object.keys(templates).toSorted(), 'and of no others')
  },
)

t.test('each mail that is not a notice is counted before it is queued, for a purpose', async (t) => {
  const used = Object.entries(templates).flatMap(([name, template]) => {
    if (template.queue === 'notices') return []
    t.ok(template.limitedBy.length > 0, `${name} has a purpose`)
    return [...template.limitedBy]
  })
  t.same([...new Set(used)].toSorted(), [...mailPurposes].toSorted(), 'each purpose has a mail')
})

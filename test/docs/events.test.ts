import { execFile, spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { envelopeOf } from '../../src/events/envelope.ts'
import { eventTypes } from '../../src/messages/outbox/event-types.ts'
import { numberedEventsOf, openDatabase } from '../helpers/event-log.ts'
import { startService } from '../helpers/service.ts'

const root = join(import.meta.dirname, '..', '..')
const text = readFileSync(join(root, 'docs', 'reference', 'events.md'), 'utf8')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const blocks = (of: string, language: string) =>
  [...of.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block]) => block ?? '')
const words = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word)

t.test('the table has exactly the types of the catalogue, in its order, with their data', async (t) => {
  const [, table = ''] = text.split('| Type | `data` | When |\n|---|---|---|\n')
  const rows = table.slice(0, table.indexOf('\n\n')).split('\n')
  t.same(
    rows.map((row) => row.split(' | ').slice(0, 2).map(words)),
    Object.entries(eventTypes).map(([type, data]) => [[type], Object.keys(data.shape)]),
  )
})

t.test('the example is an event, with every field', async (t) => {
  const example = JSON.parse(blocks(text, 'json')[0]!)
  const made = envelopeOf({
    tenant_id: example.tenantid,
    id: example.id,
    type: example.type,
    subject: example.subject,
    data: example.data,
    actor_id: example.actorid,
    impersonator_id: example.impersonatorid,
    traceparent: example.traceparent,
    occurred_at: Date.parse(example.time),
    sequence: example.sequence,
  })
  t.strictSame(made, example)
  t.same(Object.keys(made), Object.keys(example))
  t.ok(eventTypes['tenant.member_added'].parse(example.data))
})

const secret = `whsec_${randomBytes(32).toString('base64')}`
const body = JSON.stringify({ type: 'app.order_paid', data: { text: 'schön' } })
const sign = (at: Date, by = secret, id = randomUUID()) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
  'webhook-signature': new Webhook(by).sign(id, at, body),
})
const other = `whsec_${randomBytes(32).toString('base64')}`
const right = sign(new Date())
const signed: [string, object, string, boolean][] = [
  ['as it was sent', right, body, true],
  [
    'signed by two secrets',
    { ...right, 'webhook-signature': `v1,AAAA ${right['webhook-signature']}` },
    body,
    true,
  ],
  ['by another secret', sign(new Date(), other), body, false],
  ['with another body', right, `${body} `, false],
  ['with another id', { ...right, 'webhook-id': randomUUID() }, body, false],
  ['an hour old', sign(new Date(Date.now() - 3_600_000)), body, false],
  ['without a signature', { ...right, 'webhook-signature': '' }, body, false],
]

t.test('the code for Node accepts right signatures and refuses wrong ones', async (t) => {
  const folder = t.testdir({ 'verified.mjs': blocks(text, 'js')[0]! })
  const { verified } = await import(pathToFileURL(join(folder, 'verified.mjs')).href)
  for (const [title, headers, sent, genuine] of signed)
    if (genuine) t.same(verified(secret, headers, sent), JSON.parse(body), title)
    else t.throws(() => verified(secret, headers, sent), title)
})

const noPython = spawnSync('python3', ['--version']).status === 0 ? false : 'no python3 on this machine'
t.test('the code for Python does the same', { skip: noPython }, async (t) => {
  const program = `${blocks(text, 'python')[0]}
import json, sys
for headers, body in json.loads(sys.argv[2]): print(is_genuine(sys.argv[1], headers, body.encode()))`
  const cases = JSON.stringify(signed.map(([, headers, sent]) => [headers, sent]))
  const { stdout } = await promisify(execFile)('python3', ['-c', program, secret, cases])
  t.same(
    stdout.trim().split('\n'),
    signed.map(([, , , genuine]) => (genuine ? 'True' : 'False')),
  )
})

t.test('the commands of the README give the answers in their comments', async (t) => {
  const service = await startService(t, { actors: ['outbox-relay'] })
  const owner = await service.signUp()
  await numberedEventsOf(await openDatabase(t, service), owner.tenantId)
  const section = readme.split('\n## ').find((part) => part.startsWith('Events\n')) ?? ''
  const [block = '', start] = blocks(section, 'sh')
  t.equal(start, 'WEBHOOK_ALLOW_PRIVATE=true npm start\n')
  const env = { ...process.env, URL: service.url, ACCESS: owner.access }
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', block], { env })
  const wanted = [...block.matchAll(/^# → (.*)$/gm)].map(([, answer]) => answer ?? '')
  t.equal(wanted.length, 2)
  for (const answer of wanted) t.ok(stdout.includes(answer), `${answer} is in ${stdout}`)
})

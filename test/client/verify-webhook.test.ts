import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { verifyWebhook, WebhookNotValid } from '../../packages/client/exports.ts'
import { startService } from '../helpers/service.ts'
import { expect } from '../tenancy/staff.ts'
import { startReceiver } from '../workers/receiver.ts'

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`
const secret = newSecret()
const body = JSON.stringify({ type: 'tenant.role_created', data: { role_id: 'ü' } })

/** The headers of a body that is signed now, or some seconds ago, with each of the secrets. */
function signed(secrets: string[] = [secret], ago = 0, text = body) {
  const at = new Date(Date.now() - ago * 1_000)
  const signatures = secrets.map((one) => new Webhook(one).sign('msg_1', at, text))
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  }
}

t.test('a delivery of the service is verified, also with both secrets of a rotation', async (t) => {
  const service = await startService(t, { actors: [], env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  service.advance(Date.now() - service.now())
  const receiver = await startReceiver(t)
  const owner = await service.signUp()
  const { id, secret: old } = await expect(201, owner.post('/api/v1/webhooks/', { url: receiver.url }))
  const { secret: now } = await expect(200, owner.post(`/api/v1/webhooks/${id}/rotate-secret/`))
  await expect(200, owner.post(`/api/v1/webhooks/${id}/test/`))
  const test = () => receiver.received.find(({ sequence }) => sequence === undefined)
  while (!test()) await new Promise((resolve) => setTimeout(resolve, 20))
  const delivered = test()!
  for (const secret of [old, now, [newSecret(), old]]) {
    const event = await verifyWebhook({ ...delivered, secret })
    if (event.type !== 'events.webhook_tested') throw new Error(`Another type: ${event.type}`)
    t.equal(event.data.webhook_id, id)
    t.equal(event.tenantid, owner.tenantId)
  }
  await t.rejects(verifyWebhook({ ...delivered, secret: newSecret() }), WebhookNotValid)
})

t.test('the body can be text or bytes, and the headers those of the web or of Node', async (t) => {
  const headers = signed()
  for (const given of [headers, new Headers(headers)])
    for (const text of [body, Buffer.from(body), new TextEncoder().encode(body)])
      t.match(await verifyWebhook({ headers: given, body: text, secret }), { data: { role_id: 'ü' } })
})

t.test('a request that was changed, is old, or was signed by another is refused', async (t) => {
  const headers = signed()
  const refused = async (more: object, name: string) =>
    t.rejects(verifyWebhook({ headers, body, secret, ...more }), WebhookNotValid, name)
  await refused({ body: body.replace('ü', 'u') }, 'body')
  await refused({ headers: { ...headers, 'webhook-id': 'msg_2' } }, 'id')
  const later = String(Number(headers['webhook-timestamp']) + 1)
  await refused({ headers: { ...headers, 'webhook-timestamp': later } }, 'timestamp')
  await refused({ headers: signed([secret], 301) }, 'old')
  await refused({ headers: signed([secret], -302) }, 'of the future')
  await refused({ headers: signed([secret], 20), toleranceSeconds: 10 }, 'beyond its own tolerance')
  await refused({ headers: signed([newSecret()]) }, 'secret')
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const)
    await refused({ headers: { ...headers, [name]: undefined } }, `no ${name}`)
  for (const at of ['', 'now', '1e9', '-1', ' 1', '0x10', 'NaN', '99999999999999999'])
    await refused({ headers: { ...headers, 'webhook-timestamp': at } }, `timestamp "${at}"`)
  const [signature = ''] = headers['webhook-signature'].split(' ')
  for (const text of [
    'v1,',
    'v1,!',
    'v1',
    'v2,x',
    signature.replace('v1', 'v1a'),
    signature.slice(0, -4),
    `${signature}A`,
  ])
    await refused({ headers: { ...headers, 'webhook-signature': text } }, `signature "${text}"`)
  const many = Array.from({ length: 100 }, () => 'v1,AAAA').join(' ')
  await refused(
    { headers: { ...headers, 'webhook-signature': `${many} ${signature}` } },
    'too many signatures',
  )
  t.ok(await verifyWebhook({ headers: signed([newSecret(), secret]), body, secret }), 'one of several')
})

t.test('a secret of another form is a mistake of the receiver, not of the request', async (t) => {
  for (const wrong of ['', 'whsec_', 'x', secret.slice(6), 'whsec_!'])
    await t.rejects(verifyWebhook({ headers: signed(), body, secret: wrong }), TypeError, wrong)
  await t.rejects(verifyWebhook({ headers: signed(), body, secret: [] }), WebhookNotValid)
})

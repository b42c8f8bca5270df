import type { Client, Service } from '../helpers/service.ts'
import { expect, type Firm, foundFirm } from '../tenancy/staff.ts'

/** A tenant with at least one object of each kind, made by its owner. A kind that is missing here is attacked by random ids only. */
export async function furnish(service: Service): Promise<Firm> {
  const firm = await foundFirm(service)
  const { owner, path, hire } = firm
  await hire('member')
  await expect(201, owner.post(`${path}/roles/`, { name: 'Clerk', permissions: ['document:read'] }))
  await expect(201, owner.post(`${path}/departments/`, { name: 'Sales' }))
  await expect(201, owner.post(`${path}/invitations/`, { email: `invited.${owner.id}@example.com` }))
  for (const [collection, body] of objects) await expect(201, owner.post(`/api/v1/${collection}/`, body))
  await evaluate(owner)
  return firm
}

const objects: [string, object][] = [
  [
    'attribute-definitions',
    { key: 'grade', display_name: 'Grade', category: 'subject', data_type: 'string' },
  ],
  ['policies', { name: 'No export', effect: 'deny', actions: ['document:export'] }],
  ['webhooks', { url: 'https://hooks.example.com/bailiwick' }],
  ['service-accounts', { name: 'Importer' }],
]

/** Leaves a decision in the log. */
const evaluate = (owner: Client) =>
  expect(
    200,
    owner.post('/access/v1/evaluation', {
      subject: { type: 'user', id: owner.id },
      action: { name: 'document:read' },
      resource: { type: 'document', id: '1' },
    }),
  )

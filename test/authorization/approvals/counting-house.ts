import { proveAddress } from '../../helpers/prove-address.ts'
import type { Answer, Client, Service } from '../../helpers/service.ts'
import { createProgram, type Program } from '../../identity/api-keys/holders.ts'
import { expect, type Firm, foundFirm, type Staff } from '../../tenancy/staff.ts'
import { approvals, approve, policies } from './office.ts'

/**
 * A tenant with an application, whose clerks approve invoices. From an amount of 1,000 on this needs an approval. The
 * backend of the application asks with the key of a service account.
 */
export interface House extends Firm {
  clerk: Staff
  approver: Staff
  backend: Program & { accountId: string }
  gate: { id: string; version: number }
}

export const gateOf = (more: object = {}) => ({
  name: 'Large invoices',
  effect: 'require_approval',
  actions: ['invoice:approve'],
  conditions: { attribute: 'resource.amount', operator: 'gte', value: 1000 },
  ...more,
})

export async function openHouse(service: Service, gate: object = {}): Promise<House> {
  const firm = await foundFirm(service)
  const { owner, hire, role } = firm
  const define = (category: string, key: string, data_type: string, more: object = {}) =>
    expect(201, owner.post('/api/v1/attribute-definitions/', { category, key, data_type, ...more }))
  await define('resource', 'amount', 'integer')
  await define('resource', 'payee', 'string')
  await define('resource', 'reviewed', 'boolean', { source: 'caller' })
  await define('environment', 'channel', 'string')
  await define('action', 'urgent', 'boolean')
  await define('subject', 'limit', 'integer')
  const made = await expect(201, owner.post(policies, gateOf(gate)))
  const clerk = await hire(await role('invoice:approve'), 'member')
  const approver = await hire('admin')
  await proveAddress(service, owner, clerk, approver)
  const backend = await createProgram(service, owner, [await role('access:evaluate')])
  return { ...firm, clerk, approver, backend, gate: made }
}

let invoices = 0
/** The id of an invoice that was not asked about before. */
export const newInvoice = () => `invoice-${++invoices}`

/** A question about an invoice, as an approval asks it; `amount` as it is sent. */
export const about = (id: string, amount: unknown = 5000, more: object = {}) => ({
  action: 'invoice:approve',
  resource: { type: 'invoice', id, properties: { amount } },
  ...more,
})

export const userOf = ({ id }: { id: string }) => ({ subject: { type: 'user', id } })

type Asker = Pick<Client, 'post'> & { id?: string }

/** The same question at the evaluation; who asks is the subject, unless it names one. */
export function evaluate(
  who: Asker,
  { action, ...question }: { action: string | object; subject?: object },
): Promise<Answer> {
  const named = typeof action === 'string' ? { name: action } : action
  const subject = { type: 'user', id: who.id }
  return who.post('/access/v1/evaluation', { subject, ...question, action: named })
}

export const request = (who: Asker, question: object) => who.post(approvals, question)

/** Asks, and gives the id of the new request. */
export const requested = async (who: Asker, question: object): Promise<string> =>
  (await expect(201, request(who, question))).id

export const consume = (who: Asker, id: string, operation_id: string) =>
  who.post(`${approvals}${id}/consume/`, { operation_id })

/** Asks and has it approved; gives the id. */
export async function approved(house: House, question: object, who: Asker = house.clerk): Promise<string> {
  const id = await requested(who, question)
  await expect(200, approve(house.approver, id))
  return id
}

export const statusOf = async ({ owner }: House, id: string): Promise<string> =>
  (await owner.get(`${approvals}${id}/`)).body.status

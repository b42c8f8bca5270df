import { randomUUID } from 'node:crypto'
import { colleague } from '../../helpers/colleague.ts'
import { proveAddress } from '../../helpers/prove-address.ts'
import type { Answer, Client, Service } from '../../helpers/service.ts'

export const approvals = '/api/v1/approval-requests/'
export const policies = '/api/v1/policies/'

/** A tenant where creating departments needs an approval: its owner, an admin who requests, and an admin who decides. */
export interface Office {
  owner: Client
  asker: Client
  approver: Client
  policy: { id: string; version: number }
  departments: string
}

/** Creates an office. `approval` is that of its policy; `more` are further members of the policy. */
export async function openOffice(
  service: Service,
  approval: object = {},
  more: object = {},
): Promise<Office> {
  const owner = await service.signUp()
  const asker = await colleague(service, owner, 'admin')
  const approver = await colleague(service, owner, 'admin')
  await proveAddress(service, owner, asker, approver)
  const made = await owner.post(policies, {
    name: 'Four eyes',
    effect: 'require_approval',
    actions: ['department:create'],
    approval,
    ...more,
  })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return {
    owner,
    asker,
    approver,
    policy: made.body,
    departments: `/api/v1/tenants/${owner.tenantId}/departments/`,
  }
}

/** Tries to create a department, which needs an approval; returns the id of the request. */
export async function ask({ departments }: Office, who: Client, body: object): Promise<string> {
  const refused = await who.post(departments, body)
  if (refused.status !== 403 || refused.body.code !== 'approval_required')
    throw new Error(`Expected approval_required, got ${JSON.stringify(refused.body)}`)
  return refused.body.approval_request.id
}

/** Repeats a call with an approval. */
export const repeat = ({ departments }: Office, who: Client, id: string, body: object): Promise<Answer> =>
  who.post(departments, body, { headers: { 'approval-request': id } })

export const approve = (who: Client, id: string, comment?: string) =>
  who.post(`${approvals}${id}/approve/`, comment === undefined ? {} : { comment })
export const reject = (who: Client, id: string) => who.post(`${approvals}${id}/reject/`)
export const cancel = (who: Client, id: string) => who.post(`${approvals}${id}/cancel/`)

/** The number of departments. */
export const countDepartments = async ({ owner, departments }: Office): Promise<number> =>
  (await owner.get(departments)).body.count

/** A body that was not sent before. */
export const newBody = () => ({ name: `Department ${randomUUID()}` })

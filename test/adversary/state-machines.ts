import fc from 'fast-check'
import { approve, ask, cancel, newBody, openOffice, reject } from '../authorization/approvals/office.ts'
import type { Answer, Client, Service } from '../helpers/service.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'
import type { Attack, Tally } from './attack.ts'

// Random walks through the state machines. The tables below are written from the documented rules; each step has to
// answer, and to end in the state, that its table says. A repeated state answers 200.

/** From state and move to the next state; a move that is missing is refused with 409 `invalid_state`. */
type Table = Record<string, Record<string, string>>

interface Machine {
  what: string
  table: Table
  first: string
  /** Prepares an object in the first state. */
  prepare(service: Service): Promise<{ move(name: string): Promise<Answer>; state(): Promise<string> }>
}

export const stateMachines: Attack = {
  name: 'states',
  about: 'random walks through the states of tenants, members, invitations and approval requests',
  async run(stage, tally) {
    const service = await stage.shared()
    const numRuns = stage.pick(2, 12, 150)
    for (const machine of machines) {
      const moves = [...new Set(Object.values(machine.table).flatMap((row) => Object.keys(row)))]
      const walks = fc.array(fc.constantFrom(...moves), { minLength: 4, maxLength: 10 })
      for (const path of fc.sample(walks, { numRuns, seed: 20_261_121 }))
        await walk(tally, service, machine, path)
      for (const pair of pairs(moves).slice(0, numRuns)) await clash(tally, service, machine, pair)
    }
  },
}

/** The status of a state that also remembers how it was reached. */
const shown = (state: string) => state.split(' ')[0]

const pairs = (moves: string[]) => moves.flatMap((a) => moves.map((b): [string, string] => [a, b]))

async function walk(
  tally: Tally,
  service: Service,
  { what, table, first, prepare }: Machine,
  path: string[],
) {
  const { move, state } = await prepare(service)
  let at = first
  for (const [n, name] of path.entries()) {
    const next = table[at]?.[name]
    const step = `${what}: ${[...path.slice(0, n), name].join(', ')}`
    await tally.refuse(
      step,
      () => move(name),
      ({ status, body }) =>
        next === undefined ? status === 409 && body.code === 'invalid_state' : status === 200,
    )
    at = next ?? at
    const found = await state()
    const right = found === shown(at)
    tally.check(right, `${step} leads to ${at}, not ${found}`)
    if (!right) return
  }
}

/** Two moves at once: the end is one that some order of them leads to. */
async function clash(
  tally: Tally,
  service: Service,
  { what, table, first, prepare }: Machine,
  [a, b]: [string, string],
) {
  const { move, state } = await prepare(service)
  const answers = await Promise.all([move(a), move(b)])
  for (const { status } of answers) if (status >= 500) tally.serverErrors++
  const after = (moves: string[]) => moves.reduce((at, name) => table[at]?.[name] ?? at, first)
  const found = await state()
  tally.check(
    [after([a, b]), after([b, a])].map(shown).includes(found),
    `${what}: ${a} and ${b} at once end in ${found}`,
  )
}

const machines: Machine[] = [
  {
    what: 'tenant',
    first: 'active',
    table: {
      active: { suspend: 'suspended', archive: 'archived', activate: 'active' },
      suspended: { suspend: 'suspended', archive: 'archived', activate: 'active' },
      archived: { archive: 'archived', activate: 'active' },
    },
    async prepare(service) {
      const owner = await service.signUp()
      const path = `/api/v1/tenants/${owner.tenantId}/`
      return {
        move: (name) => owner.post(`${path}${name}/`),
        state: async () => (await owner.get(path)).body.status,
      }
    },
  },
  {
    what: 'membership',
    first: 'active',
    table: {
      active: { active: 'active', suspended: 'suspended' },
      suspended: { active: 'active', suspended: 'suspended' },
    },
    async prepare(service) {
      const { owner, path, hire } = await foundFirm(service)
      const { memberId } = await hire('member')
      return {
        move: (status) => owner.put(`${path}/members/${memberId}/`, { status }),
        state: async () => (await owner.get(`${path}/members/${memberId}/`)).body.status,
      }
    },
  },
  {
    what: 'invitation',
    first: 'pending',
    table: {
      pending: { cancel: 'cancelled', resend: 'pending' },
      cancelled: { cancel: 'cancelled' },
    },
    async prepare(service) {
      const { owner, path } = await foundFirm(service)
      const { id } = await expect(201, owner.post(`${path}/invitations/`, { email: `walk.${owner.email}` }))
      const at = `${path}/invitations/${id}/`
      return {
        move: (name) => owner.post(`${at}${name}/`),
        state: async () => (await owner.get(at)).body.status,
      }
    },
  },
  {
    what: 'approval request',
    first: 'pending',
    table: {
      pending: { approve: 'approved', reject: 'rejected', cancel: 'cancelled' },
      approved: { approve: 'approved', cancel: 'cancelled after approval' },
      rejected: { reject: 'rejected' },
      cancelled: {},
      // The same vote again changes nothing, also after the end.
      'cancelled after approval': { approve: 'cancelled after approval' },
    },
    async prepare(service) {
      const office = await openOffice(service)
      const id = await ask(office, office.asker, newBody())
      const moves: Record<string, (client: Client) => Promise<Answer>> = {
        approve: () => approve(office.approver, id),
        reject: () => reject(office.approver, id),
        cancel: () => cancel(office.asker, id),
      }
      return {
        move: (name) => moves[name]!(office.asker),
        state: async () => (await office.owner.get(`/api/v1/approval-requests/${id}/`)).body.status,
      }
    },
  },
]

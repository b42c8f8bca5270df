import { about, approved, consume, newInvoice, openHouse } from '../authorization/approvals/counting-house.ts'
import {
  approve,
  ask,
  countDepartments,
  newBody,
  openOffice,
  repeat,
} from '../authorization/approvals/office.ts'
import type { Answer, Client, Service } from '../helpers/service.ts'
import { claimsOf, tokenIn } from '../helpers/service.ts'
import { attemptLogin, codeAt, codeIn, enrol, longProven } from '../identity/otp/authenticator.ts'
import { expect, foundFirm, look } from '../tenancy/staff.ts'
import { applicationRaces } from './application-races.ts'
import { type Attack, Tally } from './attack.ts'

/** Prepares one round; gives the request that is sent many times at once, and how many of them may succeed. */
export interface Race {
  what: string
  prepare(service: Service): Promise<(n: number) => Promise<Answer>>
  /** How often the whole attack repeats it; 20 times if not given. */
  rounds?: number
  /** The number of successes; 1 if not given. */
  winners?: number
  /** Judges all answers in another way than by the number of successes. Gives a fault or null. */
  judge?(answers: Answer[], service: Service): string | null | Promise<string | null>
}

export const races: Attack = {
  name: 'races',
  about: 'everything that works once, 50 times at the same moment',
  async run(stage, tally) {
    const env = { DATABASE_POOL_SIZE: '10', MAGIC_LINK_ENABLED: 'true', RATE_LIMIT_ENABLED: 'false' }
    const service = await stage.fresh({ env })
    const parallel = stage.pick(10, 50, 50)
    // Opens the connections of client and database. Else the first request has ended before the others are read.
    await run(new Tally(), service, list[0]!, parallel)
    for (const race of list)
      for (let round = 0; round < stage.pick(1, 2, race.rounds ?? 20); round++)
        await run(tally, service, race, parallel)
    tally.figures.push(`${list.length} races of ${parallel}`)
  },
}

async function run(
  tally: Tally,
  service: Service,
  { what, prepare, winners = 1, judge }: Race,
  parallel: number,
) {
  const request = await prepare(service)
  const answers = await Promise.all(Array.from({ length: parallel }, (_, n) => request(n)))
  const broken = answers.filter(({ status }) => status >= 500).length
  tally.attempts += parallel - 1
  tally.held += parallel - 1
  tally.serverErrors += broken
  const won = answers.filter(({ status }) => status < 300).length
  const fault = judge ? await judge(answers, service) : won === winners ? null : `${won} succeeded`
  tally.count(what, broken > 0 ? `${broken} answers of 5xx` : fault)
}

const api = '/api/v1'
const link =
  (path: string, about: string, email: string, more = {}) =>
  async (service: Service) => {
    const token = tokenIn(await service.mailTo(email, about))
    return () => service.call('POST', `${api}/${path}/`, { body: { token, ...more } })
  }
const verify = (client: Client, code: string) => () => client.post(`${api}/auth/otp/verify/`, { code })

const oneSuccessor = (answers: Answer[]) => {
  const ids = new Set(answers.flatMap(({ body }) => (body.refresh ? [claimsOf(body.refresh).jti] : [])))
  return ids.size === 1 ? null : `${ids.size} successors`
}

const list: Race[] = [
  ...applicationRaces,
  {
    what: 'a refresh token has one successor',
    async prepare(service) {
      const { refresh } = await service.signUp()
      return () => service.call('POST', `${api}/auth/refresh/`, { body: { refresh } })
    },
    judge: (answers) => oneSuccessor(answers),
  },
  {
    what: 'a refresh token that switches its tenant has one successor',
    async prepare(service) {
      const { refresh, access: token, tenantId: tenant_id } = await service.signUp()
      const switched = { token, body: { tenant_id, refresh } }
      return (n) =>
        n % 2
          ? service.call('POST', `${api}/auth/refresh/`, { body: { refresh } })
          : service.call('POST', `${api}/auth/switch-tenant/`, switched)
    },
    judge: (answers) => oneSuccessor(answers),
  },
  {
    what: 'switches without a refresh token get none of the chain that others refresh',
    async prepare(service) {
      const { refresh, access: token, tenantId: tenant_id } = await service.signUp()
      return (n) =>
        n % 2
          ? service.call('POST', `${api}/auth/refresh/`, { body: { refresh } })
          : service.call('POST', `${api}/auth/switch-tenant/`, { token, body: { tenant_id } })
    },
    judge: (answers) => {
      const chains = answers.map(({ body }) => claimsOf(body.refresh).fid)
      const isApart = chains.every((fid, n) => (fid === chains[1]) === (n % 2 === 1))
      return isApart ? null : 'a switch gave a token of the chain of its caller'
    },
  },
  {
    what: 'a code of an app works once',
    async prepare(service) {
      const person = await service.signUp()
      return verify(person, codeAt((await enrol(service, person)).secret, service.now()))
    },
  },
  {
    what: 'a mailed code works once',
    async prepare(service) {
      const person = await service.signUp()
      await person.post(`${api}/auth/otp/email/send/`)
      return verify(person, codeIn(await service.mailTo(person.email, 'sign-in code')))
    },
  },
  {
    what: 'a recovery code works once',
    async prepare(service) {
      const person = await service.signUp()
      return verify(person, (await person.post(`${api}/auth/otp/static/generate/`)).body.codes[3])
    },
  },
  {
    what: 'a temporary token begins one session',
    async prepare(service) {
      const person = await service.signUp()
      await enrol(service, person)
      const { codes } = (await person.post(`${api}/auth/otp/static/generate/`)).body
      const token = (await attemptLogin(service, person)).body.temporary_token
      return (n) => service.call('POST', `${api}/auth/otp/verify/`, { token, body: { code: codes[n % 5] } })
    },
  },
  {
    what: 'a verification link works once',
    async prepare(service) {
      const { email } = await service.register()
      return link('auth/email/verify/confirm', 'Confirm', email)(service)
    },
  },
  {
    what: 'a reset link works once',
    async prepare(service) {
      const { email } = await service.register()
      await service.call('POST', `${api}/auth/password/reset/`, { body: { email } })
      return link('auth/password/reset/confirm', 'Reset', email, { password: 'another harbour' })(service)
    },
  },
  {
    what: 'a magic link works once',
    async prepare(service) {
      const { email } = await service.register()
      const { nonce } = await expect(
        200,
        service.call('POST', `${api}/auth/magic-link/`, { body: { email } }),
      )
      return link('auth/magic-link/confirm', 'asked to sign in', email, { nonce })(service)
    },
  },
  {
    what: 'the link that undoes a change of address works once',
    async prepare(service) {
      const owner = await longProven(service)
      await expect(
        200,
        (await service.logIn(owner)).patch(`${api}/users/me/`, { email: `moved.${owner.email}` }),
      )
      return link('auth/email/undo', 'address was changed', owner.email)(service)
    },
  },
  {
    what: 'the link that removes a factor works once',
    async prepare(service) {
      const person = await service.logIn(await longProven(service))
      await enrol(service, person)
      return link('auth/otp/undo', 'factor was added', person.email)(service)
    },
  },
  {
    what: 'an invitation makes one member',
    async prepare(service) {
      const { owner, path } = await foundFirm(service)
      const email = `invited.${owner.email}`
      await expect(201, owner.post(`${path}/invitations/`, { email }))
      return link('invitations/accept', 'invited', email, { password: 'a quiet harbour' })(service)
    },
  },
  {
    what: 'an address has one pending invitation in a tenant',
    async prepare(service) {
      const { owner, path } = await foundFirm(service)
      return () => owner.post(`${path}/invitations/`, { email: `one.${owner.email}` })
    },
  },
  {
    what: 'an address is registered once',
    async prepare(service) {
      const body = { email: `race.${Math.random()}@example.com`, password: 'a quiet harbour' }
      return () => service.call('POST', `${api}/auth/register/`, { body })
    },
  },
  {
    what: 'a name of a role is taken once',
    async prepare(service) {
      const { owner, path } = await foundFirm(service)
      return () => owner.post(`${path}/roles/`, { name: 'Clerk', permissions: [] })
    },
  },
  {
    what: 'of two owners who remove each other one stays',
    async prepare(service) {
      const firm = await foundFirm(service)
      const second = await firm.hire('owner')
      const { body } = await firm.owner.get(`${firm.path}/members/?user_id=${firm.owner.id}`)
      const first = body.results[0].id
      return (n) =>
        n % 2
          ? firm.owner.delete(`${firm.path}/members/${second.memberId}/`)
          : second.delete(`${firm.path}/members/${first}/`)
    },
  },
  {
    what: 'an approval permits one change',
    async prepare(service) {
      const office = await openOffice(service)
      const body = newBody()
      const id = await ask(office, office.asker, body)
      await expect(200, approve(office.approver, id))
      offices.push(office)
      return () => repeat(office, office.asker, id, body)
    },
    judge: async (answers) => {
      const made = await countDepartments(offices.at(-1)!)
      const won = answers.filter(({ status }) => status === 201).length
      return made === 1 && won === 1 ? null : `${made} departments, ${won} successes`
    },
  },
  {
    what: 'an approval of an application permits one operation',
    async prepare(service) {
      const house = await openHouse(service)
      const id = await approved(house, about(newInvoice()))
      return (n) => consume(house.clerk, id, `operation ${n}`)
    },
    judge: (answers) => {
      const won = answers.filter(({ status }) => status === 200).length
      const lost = answers.filter(({ body }) => body.code === 'invalid_state').length
      return won === 1 && won + lost === answers.length ? null : `${won} operations, ${lost} refusals`
    },
  },
  {
    what: 'attempts at one operation consume an approval once',
    async prepare(service) {
      const house = await openHouse(service)
      const id = await approved(house, about(newInvoice()))
      houses.push({ tenant: house.id, id })
      return () => consume(house.clerk, id, 'the operation')
    },
    judge: async (answers, service) => {
      const { tenant, id } = houses.at(-1)!
      const events = await look(
        service,
        "select from events where tenant_id = $1 and subject = $2 and type = 'authorization.approval_executed'",
        [tenant, id],
      )
      const bodies = new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`))
      return events.length === 1 && bodies.size === 1 ? null : `${events.length} uses, ${bodies.size} answers`
    },
  },
  {
    what: 'one approver has one vote',
    async prepare(service) {
      const office = await openOffice(service, { quorum: 2 })
      const id = await ask(office, office.asker, newBody())
      return () => approve(office.approver, id)
    },
    judge: (answers) => {
      const votes = Math.max(...answers.map(({ body }) => body.votes?.length ?? 0))
      const approved = answers.some(({ body }) => body.status === 'approved')
      return votes === 1 && !approved ? null : `${votes} votes, ${approved ? 'approved' : 'pending'}`
    },
  },
  {
    what: 'of approving and rejecting at once one is decided',
    async prepare(service) {
      const office = await openOffice(service)
      const id = await ask(office, office.asker, newBody())
      const path = `${api}/approval-requests/${id}`
      return (n) => (n % 2 ? office.approver.post(`${path}/approve/`) : office.owner.post(`${path}/reject/`))
    },
    judge: (answers) => {
      const states = new Set(answers.flatMap(({ status, body }) => (status === 200 ? [body.status] : [])))
      return states.size === 1 ? null : `decided as ${[...states]}`
    },
  },
  {
    what: 'parallel wrong codes are counted before they are compared',
    async prepare(service) {
      const person = await service.signUp()
      await enrol(service, person)
      return (n) => person.post(`${api}/auth/otp/verify/`, { code: String(100_000 + n) })
    },
    judge: (answers) => {
      const checked = answers.filter(({ body }) => body.code === 'otp_invalid').length
      return checked <= 5 ? null : `${checked} codes were compared`
    },
  },
  {
    what: 'parallel wrong passwords are counted before they are compared',
    async prepare(service) {
      const { email } = await service.register()
      return () => service.call('POST', `${api}/auth/login/`, { body: { email, password: 'not this one' } })
    },
    judge: (answers) => {
      const checked = answers.filter(({ status }) => status === 401).length
      return checked <= 10 ? null : `${checked} passwords were compared`
    },
  },
  {
    what: 'a request with an idempotency key is carried out once',
    async prepare(service) {
      const { owner, path, id } = await foundFirm(service)
      firms.push(id)
      const headers = { 'idempotency-key': `race-${id}` }
      return () => owner.post(`${path}/departments/`, { name: 'Once' }, { headers })
    },
    judge: async (_, service) => {
      const rows = await look(service, 'select from departments where tenant_id = $1', [firms.at(-1)])
      return rows.length === 1 ? null : `${rows.length} departments`
    },
  },
]

const offices: Awaited<ReturnType<typeof openOffice>>[] = []
const firms: string[] = []
const houses: { tenant: string; id: string }[] = []

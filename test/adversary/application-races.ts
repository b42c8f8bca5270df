import type { Answer, Service } from '../helpers/service.ts'
import { authorize, callback, openApplication, openBrowser, request } from '../oauth/relying-party.ts'
import { look } from '../tenancy/staff.ts'
import type { Race } from './races.ts'

/** A code for an application of its person, and the token endpoint as the application calls it. */
async function withCode(service: Service) {
  const person = await service.signUp()
  const application = await openApplication(service, person, { first_party: true })
  const { path, checks } = await request(application)
  const code = (await authorize(openBrowser(service), person, path)).searchParams.get('code')!
  const headers = { Authorization: `Basic ${btoa(`${application.client.id}:${application.secret}`)}` }
  const token = async (fields: Record<string, string>): Promise<Answer> => {
    const body = new URLSearchParams(fields)
    const answer = await fetch(`${service.url}/oauth/token`, { method: 'POST', headers, body })
    return { status: answer.status, headers: answer.headers, body: await answer.json() }
  }
  const exchange = () =>
    token({
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      code_verifier: checks.pkceCodeVerifier,
    })
  return { token, exchange }
}

/** How many refresh tokens work, of those that answers gave. */
async function liveChains(answers: Answer[], service: Service): Promise<number> {
  const [person] = answers.flatMap(({ body }) => (body.id_token ? [subjectOf(body.id_token)] : []))
  const live = await look(
    service,
    `select from oauth_models where user_id = $1 and kind = 'RefreshToken' and consumed_at is null`,
    [person],
  )
  return live.length
}

const subjectOf = (idToken: string): string =>
  JSON.parse(Buffer.from(idToken.split('.')[1]!, 'base64url').toString()).sub

async function oneChain(answers: Answer[], service: Service): Promise<string | null> {
  const given = new Set(answers.flatMap(({ body }) => body.refresh_token ?? []))
  const chains = await liveChains(answers, service)
  return given.size === 1 && chains === 1 ? null : `${given.size} refresh tokens, of which ${chains} work`
}

export const applicationRaces: Race[] = [
  {
    what: 'an application exchanges a code once',
    rounds: 200,
    prepare: async (service) => (await withCode(service)).exchange,
    async judge(answers, service) {
      const won = answers.filter(({ status }) => status === 200).length
      return won === 1 ? oneChain(answers, service) : `${won} exchanges`
    },
  },
  {
    what: 'a refresh token of an application has one successor',
    rounds: 200,
    async prepare(service) {
      const { token, exchange } = await withCode(service)
      const { refresh_token } = (await exchange()).body
      return () => token({ grant_type: 'refresh_token', refresh_token })
    },
    judge: oneChain,
  },
]

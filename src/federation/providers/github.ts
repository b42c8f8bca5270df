import { z } from 'zod'
import type { SocialProvider } from '../../settings/social-providers.ts'
import { askProvider, beginOidc, finishOAuth, type OidcClient } from '../oidc.ts'
import { emailIn, namesIn, type UpstreamDeps } from '../openid-upstream.ts'
import { type Upstream, UpstreamError } from '../upstream.ts'
import { clientOf } from './client-of.ts'

const gitHubCom = 'https://github.com/login/oauth'

const profile = z.looseObject({ id: z.int().positive(), name: z.string().nullish() })
const addresses = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/**
 * GitHub, which speaks OAuth 2.0 without ID tokens: its API says who a person is. `login` can go to another person, `id` never does.
 * GitHub cannot be asked for a new sign-in, and does not say when the last one was.
 */
export function gitHub(deps: UpstreamDeps, provider: SocialProvider & { kind: 'github' }): Upstream {
  const { id, kind, name } = provider
  const { client, api } = atGitHub(provider)
  return {
    id,
    kind,
    name,
    tenantId: null,
    async begin(asked) {
      if (asked.isFresh) throw new UpstreamError('undated', 'GitHub cannot be asked for a new sign-in.')
      return beginOidc(deps, client, asked)
    },
    async finish(answer) {
      const token = await finishOAuth(deps, client, answer)
      const user = await read(deps, api.user, token, profile)
      const primary = (await read(deps, api.emails, token, addresses)).find((one) => one.primary)
      const email = emailIn({ ...primary })
      return {
        issuer: client.issuer,
        attribute: 'id',
        subject: String(user.id),
        email,
        isAuthority: email !== null && primary?.verified === true,
        ...namesIn({ name: user.name }),
        amr: [],
        authTime: null,
        claims: user,
      }
    },
  }
}

/** A server of one's own has the same paths below its own name. */
function atGitHub(provider: SocialProvider & { kind: 'github' }) {
  const { endpoints, ...client } = clientOf(provider, gitHubCom)
  const { issuer } = client
  const user = issuer === gitHubCom ? 'https://api.github.com/user' : new URL('/api/v3/user', issuer).href
  const { userinfo, emails } = provider.endpoints
  return {
    api: { user: userinfo ?? user, emails: emails ?? `${userinfo ?? user}/emails` },
    client: {
      ...client,
      scopes: ['user:email'],
      endpoints: { authorization: `${issuer}/authorize`, token: `${issuer}/access_token`, ...endpoints },
      plain: true,
    } satisfies OidcClient,
  }
}

async function read<T>(deps: UpstreamDeps, url: string, token: string, schema: z.ZodType<T>): Promise<T> {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.github+json',
    'user-agent': 'bailiwick',
  }
  const answer = await askProvider(deps, url, { headers })
  if (!answer.ok)
    throw new UpstreamError(
      answer.status < 500 ? 'refused' : 'unreachable',
      `${url} answers ${answer.status}.`,
    )
  const said = schema.safeParse(await answer.json().catch(() => null))
  if (!said.success) throw new UpstreamError('refused', `${url} gives another answer than the API of GitHub.`)
  return said.data
}

import { call } from '../api/client.ts'
import { scopeTexts } from '../parts/scope-texts.ts'
import { Time } from '../parts/time.tsx'
import { LinkedCard } from './linked-card.tsx'
import { texts } from './texts.ts'

const { applications: words, sessions } = texts
const query = { page_size: 100, ordering: '-created_at' }

/** The applications that a person signed in to. */
export const ApplicationsCard = () => (
  <LinkedCard
    name="authorizations"
    icon="grid"
    words={words}
    read={(signal) => call('GET /users/me/authorizations/', { query, signal })}
    remove={(path) => call('DELETE /users/me/authorizations/{id}/', { path })}
    nameOf={({ client }) => client.name || words.deleted}
    linesOf={({ tenant, scopes, created_at: created, last_used_at: used }) => [
      <>
        <bdi>{tenant.name}</bdi> · {scopes.map((scope) => scopeTexts[scope]?.[0] ?? scope).join(', ')}
      </>,
      <>
        {sessions.signedIn} <Time at={created} />, {sessions.used} <Time at={used} />
      </>,
    ]}
  />
)

import { call } from '../api/client.ts'
import { Time } from '../parts/time.tsx'
import { LinkedCard } from './linked-card.tsx'
import { texts } from './texts.ts'

const { identities: words, sessions } = texts
const query = { page_size: 100, ordering: '-created_at' }

/** The accounts at other providers that a person signs in with. */
export const IdentitiesCard = () => (
  <LinkedCard
    name="identities"
    icon="link"
    words={words}
    read={(signal) => call('GET /users/me/identities/', { query, signal })}
    remove={(path) => call('DELETE /users/me/identities/{id}/', { path })}
    nameOf={({ provider }) => provider.name ?? words.gone}
    linesOf={({ email, created_at: created, last_used_at: used }) => [
      email && <bdi>{email}</bdi>,
      <>
        {words.linked} <Time at={created} />,{' '}
        {used ? (
          <>
            {sessions.used} <Time at={used} />
          </>
        ) : (
          words.unused
        )}
      </>,
    ]}
  />
)

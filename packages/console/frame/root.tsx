import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useRef } from 'react'
import { asProblem } from '../api/problem.ts'
import { Button, Spinner } from '../parts/button.tsx'
import { Empty, Failed } from '../parts/notice.tsx'
import { useTitle } from '../parts/page.tsx'
import { sessionQuery, signOut } from '../session/session.ts'
import { SignIn } from '../session/sign-in.tsx'
import { texts as sessionTexts } from '../session/texts.ts'
import { texts } from './texts.ts'

const Frame = lazy(async () => ({ default: (await import('./frame.tsx')).Frame }))

/** Every address: the page inside the frame, or the way to the sign-in in its place, which needs a third of the code. */
export function Root() {
  const session = useQuery(sessionQuery)
  const hadSession = useRef(false)
  if (session.data?.authenticated) hadSession.current = true
  if (session.isPending) return <Splash />
  // A session that could not be checked again may still be alive: the page says itself what it cannot load.
  if (!session.data) return <Outage error={session.error} retry={() => void session.refetch()} />
  if (!session.data.authenticated) return <SignIn session={session.data} hadSession={hadSession.current} />
  return (
    <Suspense fallback={<Splash />}>
      <Frame />
    </Suspense>
  )
}

const Splash = () => (
  <div className="splash" role="status" aria-label="Loading">
    <Spinner />
  </div>
)

/** The service is away, or the person's place in the organisation is closed. */
function Outage({ error, retry }: { error: unknown; retry: () => void }) {
  const client = useQueryClient()
  const problem = asProblem(error)
  const title = problem.status === 403 ? sessionTexts.suspended : sessionTexts.outage
  useTitle(title)
  return (
    <main className="gate">
      <div className="gate-card">
        <h1 className="hidden-text">{title}</h1>
        <Failed problem={problem} retry={retry} />
        {problem.status === 403 && (
          <Button wide onClick={() => void signOut(client)}>
            {sessionTexts.signOut}
          </Button>
        )}
      </div>
    </main>
  )
}

export function Missing() {
  const { title, about, go } = texts.missing
  useTitle(title)
  return (
    <div className="page">
      <h1 className="hidden-text">{title}</h1>
      <Empty
        icon="search"
        title={title}
        action={
          <Link className="button" to="/account">
            {go}
          </Link>
        }
      >
        {about}
      </Empty>
    </div>
  )
}

export function Crashed() {
  const { title, about, go } = texts.crashed
  useTitle(title)
  return (
    <div className="page" role="alert">
      <Empty icon="alert" title={title} action={<Button onClick={() => location.reload()}>{go}</Button>}>
        {about}
      </Empty>
    </div>
  )
}

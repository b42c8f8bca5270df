import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { request } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Notice } from '../parts/notice.tsx'
import { Gate } from './gate.tsx'
import { SecondFactor } from './second-factor.tsx'
import { goToSignIn, renewSession, type Session } from './session.ts'
import { texts } from './texts.ts'

/**
 * Between a visitor and a session: the pages of the service sign in, and come back. Where a session ended under the eyes of
 * its person, or its organisation requires another way, they press a button first. A session that owes a second factor shows it here.
 */
export function SignIn({ session, hadSession }: { session: Session; hadSession: boolean }) {
  const client = useQueryClient()
  const waits = session.otp_required === true
  const leaves = !waits && !hadSession && !session.url
  useEffect(() => {
    if (leaves) goToSignIn()
  }, [leaves])
  const other = async () => {
    await request('DELETE /session/')
    await renewSession(client)
  }
  if (waits) return <SecondFactor methods={session.methods ?? []} onOther={() => void other()} />
  if (leaves) return null
  const { title, about, ended, go, required, byProvider, otherwise } = texts.signIn
  const reason = session.url ? required : session.ended && ended
  return (
    <Gate title={title} about={reason ? undefined : about}>
      {reason && (
        <Notice icon="clock" tone="warn">
          {reason}
        </Notice>
      )}
      <Button kind="primary" wide onClick={() => goToSignIn(session.url)}>
        {session.url ? byProvider : go}
      </Button>
      {session.url && (
        <Button wide onClick={() => goToSignIn()}>
          {otherwise}
        </Button>
      )}
    </Gate>
  )
}

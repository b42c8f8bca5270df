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
 * its person, they press a button first. A session that owes a second factor shows it here.
 */
export function SignIn({ session, hadSession }: { session: Session; hadSession: boolean }) {
  const client = useQueryClient()
  const waits = session.otp_required === true
  const leaves = !waits && !hadSession
  useEffect(() => {
    if (leaves) goToSignIn()
  }, [leaves])
  const other = async () => {
    await request('DELETE /session/')
    await renewSession(client)
  }
  if (waits) return <SecondFactor methods={session.methods ?? []} onOther={() => void other()} />
  if (leaves) return null
  const { title, about, ended, go } = texts.signIn
  return (
    <Gate title={title} about={session.ended ? undefined : about}>
      {session.ended && (
        <Notice icon="clock" tone="warn">
          {ended}
        </Notice>
      )}
      <Button kind="primary" wide onClick={goToSignIn}>
        {go}
      </Button>
    </Gate>
  )
}

import { useQueryClient } from '@tanstack/react-query'
import { request } from '../api/client.ts'
import { nameOf } from '../parts/avatar.tsx'
import { Button } from '../parts/button.tsx'
import { Notice } from '../parts/notice.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { renewSession, useProfile } from '../session/session.ts'
import { texts } from './texts.ts'

/** Says on each page that the person acts as another one, and ends it. */
export function ActingBanner() {
  const client = useQueryClient()
  const profile = useProfile()
  const { impersonator, email } = profile
  if (!impersonator) return null
  const end = () =>
    request('DELETE', '/session/impersonation/')
      .then(() => renewSession(client))
      .catch(sayFault)
  return (
    <Notice tone="warn" icon="person" title={texts.acting.as(nameOf(profile) || email)}>
      <p>{texts.acting.about(impersonator.email)}</p>
      <Button onClick={() => void end()}>{texts.acting.end}</Button>
    </Notice>
  )
}

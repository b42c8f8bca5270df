import { useQueryClient } from '@tanstack/react-query'
import { request } from '../api/client.ts'
import { nameOf } from '../parts/avatar.tsx'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
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
    request('DELETE /session/impersonation/')
      .then(() => renewSession(client))
      .catch(sayFault)
  return (
    <div className="acting" role="status">
      <Icon name="person" />
      <div>
        <strong>{texts.acting.as(nameOf(profile) || email)}</strong>
        <p>{texts.acting.about(impersonator.email)}</p>
      </div>
      <Button onClick={() => void end()}>{texts.acting.end}</Button>
    </div>
  )
}

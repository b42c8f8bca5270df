import type { ReceivedInvitation } from '@bailiwick/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { useProfile } from '../session/session.ts'
import type { Organisation } from '../session/switch-organisation.tsx'
import { texts } from './texts.ts'

const key = ['received-invitations']

/**
 * The invitations to the person's verified address. None while they act as another one, who answers their own, and where the
 * organisation is closed, which answers no question about them.
 */
export function useReceived(): ReceivedInvitation[] {
  const { id, impersonator, current_tenant: here } = useProfile()
  const { data } = useQuery({
    queryKey: [...key, id],
    queryFn: ({ signal }) => call('GET /users/me/invitations/', { query: { page_size: 20 }, signal }),
    enabled: !impersonator && here.status === 'active',
    staleTime: 60_000,
  })
  return data?.results ?? []
}

/** Says who invites to what, and joins. */
export function JoinDialog({
  invitation: { id, tenant, invited_by: inviter, roles },
  onClose,
  onJoined,
}: {
  invitation: ReceivedInvitation
  onClose: () => void
  onJoined: (tenant: Organisation) => Promise<void>
}) {
  const client = useQueryClient()
  const { title, about, go } = texts.join
  const submit = async () => {
    await call('POST /users/me/invitations/{id}/accept/', { path: { id } })
    void client.invalidateQueries({ queryKey: key })
    await onJoined(tenant)
  }
  return (
    <FormDialog
      open
      {...{ onClose, submit }}
      title={title(tenant.name)}
      about={about(inviter.email, roles)}
      go={go}
    />
  )
}

import type { RotatedSecret, Webhook } from '@bailiwick/client'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { faultOf } from '../api/problem.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { Menu, MenuItem, MenuLine } from '../parts/menu.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { Time } from '../parts/time.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { useMay } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { hostOf } from './state.tsx'
import { texts } from './texts.ts'
import { WebhookForm } from './webhook-form.tsx'

type Asked = 'edit' | 'rotate' | 'remove' | null

/** What can be done with a webhook: buttons for the head of its page, the button that enables it, and the dialogs. */
export function useWebhookActions(webhook: Webhook) {
  const navigate = useNavigate()
  const may = useMay()
  const [asked, setAsked] = useState<Asked>(null)
  const [shown, setShown] = useState<RotatedSecret | null>(null)
  const path = { id: webhook.id }
  const host = hostOf(webhook.url)
  const act = (run: () => Promise<unknown>, done: string) => changed('webhooks', run, done)
  const setActive = (active: boolean) =>
    void act(
      () => call('PATCH /webhooks/{id}/', { path, body: { is_active: active } }),
      active ? texts.enabled : texts.pausing,
    ).catch(sayFault)
  const test = () => void act(() => call('POST /webhooks/{id}/test/', { path }), texts.tested).catch(sayFault)
  const rotate = () =>
    confirmed(async () => setShown(await call('POST /webhooks/{id}/rotate-secret/', { path })))
  const remove = async (form: FormData) => {
    if (textOf(form, 'again') !== host) throw faultOf('again', texts.removing.wrong(host))
    if (await act(() => call('DELETE /webhooks/{id}/', { path }), texts.removed))
      await navigate({ to: '/webhooks' })
  }

  const own = webhook.managed_by === null
  const runs = webhook.is_active && webhook.status === 'active'
  const enable = own && may('webhook:update') && (
    <Button onClick={() => setActive(true)}>{webhook.is_active ? texts.enable : texts.goOn}</Button>
  )
  const buttons = own && (
    <>
      {may('webhook:test') && runs && (
        <Button icon="send" onClick={test}>
          {texts.test}
        </Button>
      )}
      {may('webhook:update') && (
        <Menu trigger={<Button icon="dots" aria-label={texts.actions} />}>
          <MenuItem icon="send" onClick={() => setAsked('edit')}>
            {texts.edit}
          </MenuItem>
          {runs && (
            <MenuItem icon="clock" onClick={() => setActive(false)}>
              {texts.pause}
            </MenuItem>
          )}
          {may('webhook:rotate') && (
            <MenuItem icon="key" onClick={() => setAsked('rotate')}>
              {texts.rotate}
            </MenuItem>
          )}
          <MenuLine />
          <MenuItem icon="trash" danger onClick={() => setAsked('remove')}>
            {texts.remove}
          </MenuItem>
        </Menu>
      )}
    </>
  )
  const close = () => setAsked(null)
  const dialogs = (
    <>
      {asked === 'edit' && <WebhookForm known={webhook} onClose={close} />}
      {asked === 'rotate' && <FormDialog open onClose={close} {...texts.rotating} submit={rotate} />}
      {asked === 'remove' && (
        <FormDialog
          open
          danger
          onClose={close}
          title={texts.removing.title}
          about={texts.removing.about}
          go={texts.remove}
          submit={remove}
        >
          <TextField label={texts.removing.again} hint={host} name="again" autoComplete="off" autoFocus />
        </FormDialog>
      )}
      {shown && (
        <SecretDialog {...texts.secret} secret={shown.secret} onDone={() => setShown(null)}>
          <p className="muted small">
            {texts.secret.until} <Time at={shown.previous_secret_expires_at} form="exact" />.
          </p>
        </SecretDialog>
      )}
    </>
  )
  return { buttons, enable, dialogs }
}

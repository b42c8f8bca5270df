import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { PasswordField } from '../parts/field.tsx'
import { Card } from '../parts/page.tsx'
import { say } from '../parts/toasts.tsx'
import { textOf } from '../session/use-submit.ts'
import { RevokeKeys, revokingKeys } from './revoke-keys.tsx'
import { texts } from './texts.ts'

const { security: words } = texts

export function PasswordCard() {
  const [open, setOpen] = useState(false)
  return (
    <Card
      title={words.password}
      about={words.passwordAbout}
      actions={<Button onClick={() => setOpen(true)}>{words.changePassword}</Button>}
    >
      <FormDialog
        open={open}
        onClose={() => setOpen(false)}
        title={words.changePassword}
        about={words.passwordAbout}
        go={words.changePassword}
        submit={async (form) => {
          const body = {
            current_password: textOf(form, 'current_password'),
            new_password: textOf(form, 'new_password'),
            ...revokingKeys(form),
          }
          await confirmed(() => call('POST /auth/password/change/', { body }))
          say(words.passwordChanged, body.revoke_keys ? texts.revokeKeys.done : undefined)
        }}
      >
        <PasswordField
          label={words.current}
          name="current_password"
          autoComplete="current-password"
          required
          autoFocus
        />
        <PasswordField
          label={words.new}
          name="new_password"
          autoComplete="new-password"
          required
          hint={words.hint}
        />
        <RevokeKeys />
      </FormDialog>
    </Card>
  )
}

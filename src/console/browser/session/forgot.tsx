import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { TextField } from '../parts/field.tsx'
import { Fault } from '../parts/notice.tsx'
import { Gate } from './gate.tsx'
import { texts } from './texts.ts'
import { textOf, useSubmit } from './use-submit.ts'

/** Mails a link to choose a new password. The answer is the same whether the address has an account or not. */
export function Forgot({ email, onBack }: { email: string; onBack: () => void }) {
  const [sent, setSent] = useState<string | null>(null)
  const { busy, problem, onSubmit } = useSubmit(async (form) => {
    const address = textOf(form, 'email')
    await call('POST /auth/password/reset/', { body: { email: address } })
    setSent(address)
  })
  const { title, about, go, back } = texts.forgot
  if (sent)
    return (
      <Gate title={texts.forgot.sent} about={texts.forgot.sentAbout(sent)}>
        <Button icon="back" wide onClick={onBack}>
          {back}
        </Button>
      </Gate>
    )
  return (
    <Gate title={title} about={about}>
      <form onSubmit={onSubmit}>
        {!problem?.fields.size && <Fault problem={problem} />}
        <TextField
          label={texts.signIn.email}
          name="email"
          type="email"
          autoComplete="username"
          required
          autoFocus
          defaultValue={email}
          fault={problem?.fields.get('email')}
        />
        <Button type="submit" kind="primary" wide busy={busy}>
          {go}
        </Button>
      </form>
      <div className="quiet-links">
        <button type="button" className="text-button" onClick={onBack}>
          {back}
        </button>
      </div>
    </Gate>
  )
}

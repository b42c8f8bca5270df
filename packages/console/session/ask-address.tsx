import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { TextField } from '../parts/field.tsx'
import { Refused } from '../parts/refused.tsx'
import { Gate } from './gate.tsx'
import { texts } from './texts.ts'
import { textOf, useSubmit } from './use-submit.ts'

interface Words {
  title: string
  about: string
  go: string
  sent: string
  sentAbout: (email: string) => string
}

/** Asks for an address, and mails a link there. */
export function AskAddress({
  email,
  words: { title, about, go, sent: done, sentAbout },
  send,
  onBack,
}: {
  email: string
  words: Words
  send: (email: string) => Promise<unknown>
  onBack: () => void
}) {
  const [sent, setSent] = useState<string | null>(null)
  const { busy, problem, onSubmit } = useSubmit(async (form) => {
    const address = textOf(form, 'email')
    await send(address)
    setSent(address)
  })
  if (sent)
    return (
      <Gate title={done} about={sentAbout(sent)}>
        <Button icon="back" wide onClick={onBack}>
          {texts.back}
        </Button>
      </Gate>
    )
  return (
    <Gate title={title} about={about}>
      <form onSubmit={onSubmit}>
        <Refused problem={problem}>
          <TextField
            label={texts.signIn.email}
            name="email"
            type="email"
            autoComplete="username"
            required
            autoFocus
            defaultValue={email}
          />
        </Refused>
        <Button type="submit" kind="primary" wide busy={busy}>
          {go}
        </Button>
      </form>
      <div className="quiet-links">
        <button type="button" className="text-button" onClick={onBack}>
          {texts.back}
        </button>
      </div>
    </Gate>
  )
}

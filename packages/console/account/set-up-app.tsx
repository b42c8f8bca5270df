import type { Operations } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { TextField } from '../parts/field.tsx'
import { Fault } from '../parts/notice.tsx'
import { textOf, useSubmit } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { app: words } = texts

interface Begun {
  deviceId: string
  secret: string
  qr: string
}

type SetUp = Operations['POST /auth/otp/totp/setup/']

export interface SetUpCalls {
  begin: (body: SetUp['body']) => Promise<SetUp['answer']>
  confirm: (body: { code: string; device_id: string }) => Promise<unknown>
}

const inSession: SetUpCalls = {
  begin: (body) => call('POST /auth/otp/totp/setup/', { body }),
  confirm: (body) => call('POST /auth/otp/totp/confirm/', { body }),
}

/** Sets up an authenticator app: a name, the QR code, its first code. */
export function SetUpApp({ calls = inSession, onDone }: { calls?: SetUpCalls; onDone: () => void }) {
  const [begun, setBegun] = useState<Begun | null>(null)
  return begun ? <Confirm {...{ calls, begun, onDone }} /> : <Begin calls={calls} onBegun={setBegun} />
}

function Begin({ calls, onBegun }: { calls: SetUpCalls; onBegun: (begun: Begun) => void }) {
  const { busy, problem, onSubmit } = useSubmit(async (form) => {
    const name = textOf(form, 'name')
    const answer = await confirmed(
      (current_password) =>
        calls.begin({ name, ...(current_password !== undefined && { current_password }) }),
      { takesPassword: true },
    )
    onBegun({ deviceId: answer.device.id, secret: answer.secret, qr: answer.qr_svg })
  })
  return (
    <form className="stack" onSubmit={onSubmit}>
      <Fault problem={problem} />
      <TextField label={words.name} hint={words.nameHint} name="name" maxLength={120} autoFocus />
      <Button type="submit" kind="primary" busy={busy}>
        {words.begin}
      </Button>
    </form>
  )
}

function Confirm({ calls, begun, onDone }: { calls: SetUpCalls; begun: Begun; onDone: () => void }) {
  const { deviceId, secret, qr } = begun
  const { busy, problem, onSubmit } = useSubmit(async (form) => {
    await calls.confirm({ code: textOf(form, 'code'), device_id: deviceId })
    onDone()
  })
  return (
    <form className="stack" onSubmit={onSubmit}>
      <p>{words.scan}</p>
      <img className="qr" alt={words.qr} src={`data:image/svg+xml,${encodeURIComponent(qr)}`} />
      <p className="muted small">{words.orType}</p>
      <div className="line">
        <code>{secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
        <CopyButton text={secret} />
      </div>
      <Fault problem={problem} />
      <TextField
        label={words.code}
        name="code"
        className="code-input"
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={7}
        required
        autoFocus
      />
      <Button type="submit" kind="primary" busy={busy}>
        {words.go}
      </Button>
    </form>
  )
}

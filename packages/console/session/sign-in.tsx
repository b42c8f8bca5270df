import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, request } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { PasswordField, TextField } from '../parts/field.tsx'
import { Fault, Notice } from '../parts/notice.tsx'
import { Forgot } from './forgot.tsx'
import { Gate } from './gate.tsx'
import { canMailLinks, MailedLink } from './mailed-link.tsx'
import { canUsePasskeys, usePasskey } from './passkey.ts'
import { Register } from './register.tsx'
import { SecondFactor } from './second-factor.tsx'
import { type Method, renewSession, type Session } from './session.ts'
import { texts } from './texts.ts'
import { textOf, useSubmit } from './use-submit.ts'

type Step = 'password' | 'forgot' | 'register' | 'link'

/** Everything between a visitor and a session. The address stays, so that they continue where they wanted to go. */
export function SignIn({ session }: { session: Session }) {
  const [step, setStep] = useState<Step>('password')
  const [email, setEmail] = useState('')
  const [waiting, setWaiting] = useState<Method[] | null>(null)
  const methods = waiting ?? (session.otp_required ? (session.methods ?? []) : null)
  const client = useQueryClient()
  const other = async () => {
    await request('DELETE /session/')
    setWaiting(null)
    await renewSession(client)
  }

  const follow = async ({ authenticated, methods }: Session) => {
    if (authenticated) await renewSession(client)
    else setWaiting(methods ?? [])
  }
  const signInWithPasskey = async () => {
    const credential = await usePasskey(await call('POST /auth/passkeys/login/options/'))
    await follow((await call('POST /auth/passkeys/login/', { body: { credential } })) as unknown as Session)
  }
  const signIn = async (body: { email: string; password: string }) => {
    await follow((await request('POST /session/', { body })) as Session)
  }

  if (methods) return <SecondFactor methods={methods} onOther={() => void other()} />
  if (step === 'forgot') return <Forgot email={email} onBack={() => setStep('password')} />
  if (step === 'link') return <MailedLink email={email} onBack={() => setStep('password')} />
  if (step === 'register') return <Register signIn={signIn} onBack={() => setStep('password')} />
  return (
    <Password
      {...{ email, setEmail, signIn, signInWithPasskey }}
      ended={session.ended === true}
      onForgot={() => setStep('forgot')}
      onLink={() => setStep('link')}
      onRegister={() => setStep('register')}
    />
  )
}

function Password({
  email,
  setEmail,
  ended,
  signIn,
  signInWithPasskey,
  onForgot,
  onLink,
  onRegister,
}: {
  email: string
  setEmail: (email: string) => void
  ended: boolean
  signIn: (body: { email: string; password: string }) => Promise<void>
  signInWithPasskey: () => Promise<void>
  onForgot: () => void
  onLink: () => void
  onRegister: () => void
}) {
  const { title, about, password, forgot, go, register } = texts.signIn
  const { busy, problem, onSubmit } = useSubmit((form) =>
    signIn({ email, password: textOf(form, 'password') }),
  )
  const byPasskey = useSubmit(signInWithPasskey)
  const fault = problem ?? byPasskey.problem
  return (
    <Gate title={title} about={about}>
      {ended && !fault && (
        <Notice icon="clock" tone="warn">
          {texts.signIn.ended}
        </Notice>
      )}
      <form onSubmit={onSubmit}>
        <Fault problem={fault} />
        <TextField
          label={texts.signIn.email}
          name="email"
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <PasswordField
          label={password}
          name="password"
          autoComplete="current-password"
          required
          aside={
            <button type="button" className="text-button small" onClick={onForgot}>
              {forgot}
            </button>
          }
        />
        <Button type="submit" kind="primary" wide busy={busy}>
          {go}
        </Button>
      </form>
      {(canUsePasskeys() || canMailLinks()) && (
        <form onSubmit={byPasskey.onSubmit}>
          <p className="or">{texts.signIn.or}</p>
          {canUsePasskeys() && (
            <Button type="submit" icon="key" wide busy={byPasskey.busy}>
              {texts.signIn.passkey}
            </Button>
          )}
          {canMailLinks() && (
            <Button icon="mail" wide onClick={onLink}>
              {texts.signIn.mailedLink}
            </Button>
          )}
        </form>
      )}
      <p className="quiet-links">
        <span>
          {texts.signIn.new}{' '}
          <button type="button" className="text-button" onClick={onRegister}>
            {register}
          </button>
        </span>
      </p>
    </Gate>
  )
}

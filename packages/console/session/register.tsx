import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { PasswordField, TextField } from '../parts/field.tsx'
import { Refused } from '../parts/refused.tsx'
import { Gate } from './gate.tsx'
import { texts } from './texts.ts'
import { textOf, useSubmit } from './use-submit.ts'

/** Creates an account, and signs in to it. */
export function Register({
  signIn,
  onBack,
}: {
  signIn: (body: { email: string; password: string }) => Promise<void>
  onBack: () => void
}) {
  const { busy, problem, onSubmit } = useSubmit(async (form) => {
    const email = textOf(form, 'email')
    const password = textOf(form, 'password')
    const names = { first_name: textOf(form, 'first_name'), last_name: textOf(form, 'last_name') }
    await call('POST /auth/register/', { body: { email, password, ...names } })
    await signIn({ email, password })
  })
  const { title, about, first, last, hint, go, existing } = texts.register
  return (
    <Gate title={title} about={about}>
      <form onSubmit={onSubmit}>
        <Refused problem={problem}>
          <div className="columns" data-narrow>
            <TextField label={first} name="first_name" autoComplete="given-name" maxLength={150} autoFocus />
            <TextField label={last} name="last_name" autoComplete="family-name" maxLength={150} />
          </div>
          <TextField label={texts.signIn.email} name="email" type="email" autoComplete="username" required />
          <PasswordField
            label={texts.signIn.password}
            name="password"
            autoComplete="new-password"
            minLength={8}
            required
            hint={hint}
          />
        </Refused>
        <Button type="submit" kind="primary" wide busy={busy}>
          {go}
        </Button>
      </form>
      <p className="quiet-links">
        <span>
          {existing}{' '}
          <button type="button" className="text-button" onClick={onBack}>
            {texts.signIn.title}
          </button>
        </span>
      </p>
    </Gate>
  )
}

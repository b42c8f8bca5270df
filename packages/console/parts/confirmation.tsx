import { Problem } from '@bailiwick/client'
import { type ReactNode, useEffect, useSyncExternalStore } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { textOf } from '../session/use-submit.ts'
import { Button } from './button.tsx'
import { FormDialog } from './dialog.tsx'
import { PasswordField, TextField } from './field.tsx'
import { texts } from './texts.ts'
import { say, sayFault } from './toasts.tsx'
import { wayOn } from './way-on.tsx'

/** A call that waits until its person has confirmed who they are. */
interface Waiting {
  by: 'password' | 'code'
  /** A sign-in that the service names: a session by a connection may have no password to show. */
  instead: ReactNode
  attempt: (shown: string) => Promise<void>
  cancel: () => void
}

let waiting: Waiting | null = null
const listeners = new Set<() => void>()

function setWaiting(next: Waiting | null): void {
  waiting = next
  for (const listener of listeners) listener()
}

/**
 * Makes a call. If the service asks for a fresh sign-in, asks for the password or a second factor in a dialog, and makes
 * the call again. `run` gets the password if the call takes one. Throws a problem without a message if the person gives up.
 */
export async function confirmed<T>(
  run: (password?: string) => Promise<T>,
  { takesPassword = false }: { takesPassword?: boolean } = {},
): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const problem = asProblem(error)
    if (problem.code !== 'insufficient_user_authentication') throw error
    const by = takesPassword && problem.members.acr_values === 'aal1' ? 'password' : 'code'
    return new Promise<T>((resolve, reject) => {
      const attempt = async (shown: string) => {
        if (by === 'password') return resolve(await run(shown))
        // Not /session/second-factor/: there a waiting switch of the tenant comes first.
        await call('POST /auth/otp/verify/', { body: { code: shown } })
        resolve(confirmed(run, { takesPassword }))
      }
      const instead = typeof problem.members.url === 'string' && wayOn(problem)
      setWaiting({ by, instead, attempt, cancel: () => reject(new Problem(0, { detail: '' })) })
    })
  }
}

/** The body of a call with the password that {@link confirmed} asked for. */
export const withPassword = <B,>(body: B, current_password: string | undefined) =>
  current_password === undefined ? body : { ...body, current_password }

/** No call outlives the pages that made it. */
function abandon(): void {
  waiting?.cancel()
  setWaiting(null)
}

/** Where {@link confirmed} asks. Once, around all pages. */
export function Confirmations() {
  const current = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => waiting,
  )
  useEffect(() => abandon, [])
  if (!current) return null
  const { title, about, label, go } = current.by === 'password' ? texts.confirmPassword : texts.confirmCode
  const shown = current.by === 'password' ? 'current_password' : 'code'
  const mail = () => call('POST /auth/otp/email/send/').then(() => say(texts.confirmCode.mailed), sayFault)
  return (
    <FormDialog
      open
      {...{ title, about, go }}
      onClose={() => {
        current.cancel() // has no effect on a call that was made
        if (waiting === current) setWaiting(null)
      }}
      submit={(form) => current.attempt(textOf(form, shown))}
    >
      {current.by === 'password' ? (
        <PasswordField label={label} name={shown} autoComplete="current-password" autoFocus required />
      ) : (
        <>
          <TextField
            label={label}
            name={shown}
            className="code-input"
            autoComplete="one-time-code"
            autoFocus
            required
          />
          <Button kind="quiet" icon="mail" onClick={() => void mail()}>
            {texts.confirmCode.mail}
          </Button>
        </>
      )}
      {current.instead && <div className="line">{current.instead}</div>}
    </FormDialog>
  )
}

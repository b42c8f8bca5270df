import type { PasskeyRequestOptions, Problem } from '@bailiwick/client'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { request } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { Button } from '../parts/button.tsx'
import { TextField } from '../parts/field.tsx'
import { Fault, Notice } from '../parts/notice.tsx'
import { canUsePasskeys, usePasskey } from './passkey.ts'
import type { Method } from './session.ts'
import { texts } from './texts.ts'
import { textOf, useSubmit } from './use-submit.ts'

const SetUpFirst = lazy(async () => ({ default: (await import('./set-up-first.tsx')).SetUpFirst }))

const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })

async function givePasskey() {
  const options = await request('POST /session/second-factor/passkey/options/')
  return usePasskey(options as PasskeyRequestOptions)
}

interface Asking {
  methods: Method[]
  onDone: () => Promise<void>
  /** What a person can do instead. */
  other: { label: string; go: () => void }
  /** Places the form on a page or in a dialog, whose head says what to do. */
  children: (about: string | null, form: ReactNode) => ReactNode
}

/** Asks for a second factor by one of the ways that the person has, and offers the others. */
export function FactorForm({ methods: asked, onDone, other, children }: Asking) {
  const [hasMade, setMade] = useState(false)
  const ways: Method[] = hasMade ? ['passkey'] : asked
  const methods = ways.filter((way) => way !== 'passkey' || ways.length === 1 || canUsePasskeys())
  const [chosen, setMethod] = useState(methods[0])
  const method = chosen ?? methods[0]
  const [mailed, setMailed] = useState(false)
  const [young, setYoung] = useState<string | null>(null)
  const [fault, setFault] = useState<Problem | null>(null)
  const { busy, problem, onSubmit } = useSubmit(async (form) => {
    setFault(null)
    const answer =
      method === 'passkey'
        ? await request('POST /session/second-factor/passkey/', {
            body: { credential: await givePasskey() },
          })
        : await request('POST /session/second-factor/', {
            body: { code: textOf(form, 'code'), device_type: method },
          })
    const { authenticated, counts_from } = answer as { authenticated?: boolean; counts_from: string | null }
    if (authenticated) await onDone()
    else setYoung(counts_from)
  })
  const instead = (
    <button type="button" className="text-button" onClick={other.go}>
      {other.label}
    </button>
  )
  if (method === undefined)
    return children(
      null,
      <Suspense>
        <SetUpFirst onDone={() => void onDone()} onPasskey={() => setMade(true)} />
        <div className="quiet-links">{instead}</div>
      </Suspense>,
    )

  const mail = async () => {
    setFault(null)
    try {
      await request('POST /session/second-factor/email/')
      setMailed(true)
    } catch (error) {
      setFault(asProblem(error))
    }
  }
  const choose = (next: Method) => {
    setMethod(next)
    setYoung(null)
    setFault(null)
  }
  const { about, label, go, mailAbout, mailAgain, use } = texts.factor
  const toMail = method === 'email' && !mailed
  return children(
    toMail ? mailAbout : about[method],
    <>
      <form onSubmit={onSubmit}>
        <Fault problem={fault ?? problem} />
        {young && <Notice tone="warn">{texts.factor.young(exact.format(new Date(young)))}</Notice>}
        {method === 'email' && mailed && (
          <Notice tone="good" icon="mail">
            {texts.factor.mailed}
          </Notice>
        )}
        {toMail ? (
          <Button kind="primary" icon="mail" wide onClick={() => void mail()}>
            {texts.factor.mail}
          </Button>
        ) : (
          <>
            {method !== 'passkey' && (
              <TextField
                key={method}
                label={label[method]}
                name="code"
                className="code-input"
                data-long={method === 'static' || undefined}
                autoComplete="one-time-code"
                inputMode={method === 'static' ? 'text' : 'numeric'}
                maxLength={method === 'static' ? 40 : 7}
                required
                autoFocus
              />
            )}
            <Button type="submit" kind="primary" wide busy={busy}>
              {go}
            </Button>
          </>
        )}
      </form>
      <div className="quiet-links">
        {method === 'email' && mailed && (
          <button type="button" className="text-button" onClick={() => void mail()}>
            {mailAgain}
          </button>
        )}
        {methods
          .filter((one) => one !== method)
          .map((one) => (
            <button type="button" className="text-button" key={one} onClick={() => choose(one)}>
              {use[one]}
            </button>
          ))}
        {instead}
      </div>
    </>,
  )
}

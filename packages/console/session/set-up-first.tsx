import type { PasskeyCreationOptions } from '@bailiwick/client'
import { SetUpApp, type SetUpCalls } from '../account/set-up-app.tsx'
import { factorsOn, request } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Fault, Notice } from '../parts/notice.tsx'
import { canUsePasskeys, makePasskey } from './passkey.ts'
import { texts } from './texts.ts'
import { useSubmit } from './use-submit.ts'

const path = 'POST /session/second-factor'

/** As the waiting sign-in, also where a session runs that may not go on without the factor. */
const waiting: SetUpCalls = {
  begin: async (body) =>
    (await request(`${path}/app/`, { body })) as Awaited<ReturnType<SetUpCalls['begin']>>,
  confirm: (body) => request(`${path}/app/confirm/`, { body }),
}

async function setUpPasskey(): Promise<void> {
  const options = (await request(`${path}/passkey/registration/`, { body: {} })) as PasskeyCreationOptions
  await request(`${path}/passkey/registration/confirm/`, { body: { credential: await makePasskey(options) } })
}

/**
 * Sets up the first second factor, which the organisation demands, before the session begins or goes on. `onPasskey`: there is a
 * passkey now, which has to be shown next.
 */
export function SetUpFirst({ onDone, onPasskey }: { onDone: () => void; onPasskey: () => void }) {
  const byApp = factorsOn.includes('totp')
  const byPasskey = factorsOn.includes('passkey') && canUsePasskeys()
  const { none, noneUsable } = texts.factor
  return (
    <>
      <Notice icon="shield">{byApp || byPasskey ? none : noneUsable}</Notice>
      {byApp && (
        <section className="stack">
          <h2>{texts.factor.byApp}</h2>
          <SetUpApp calls={waiting} onDone={onDone} />
        </section>
      )}
      {byPasskey && <MakePasskey onDone={onPasskey} isOnly={!byApp} />}
    </>
  )
}

function MakePasskey({ onDone, isOnly }: { onDone: () => void; isOnly: boolean }) {
  const { busy, problem, onSubmit } = useSubmit(() => setUpPasskey().then(onDone))
  return (
    <form className="stack" onSubmit={onSubmit}>
      <Fault problem={problem} />
      <Button type="submit" icon="key" kind={isOnly ? 'primary' : undefined} wide busy={busy}>
        {isOnly ? texts.factor.makePasskey : texts.factor.passkeyInstead}
      </Button>
    </form>
  )
}

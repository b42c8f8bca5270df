import { SetUpApp, type SetUpCalls } from '../account/set-up-app.tsx'
import { request } from '../api/client.ts'
import { Notice } from '../parts/notice.tsx'
import { texts } from './texts.ts'

/** As the waiting sign-in, also where a session runs that may not go on without the factor. */
const waiting: SetUpCalls = {
  begin: async (body) =>
    (await request('POST /session/second-factor/app/', { body })) as Awaited<ReturnType<SetUpCalls['begin']>>,
  confirm: (body) => request('POST /session/second-factor/app/confirm/', { body }),
}

/** Sets up the first second factor, which the organisation demands, before the session begins or goes on. */
export function SetUpFirst({ onDone }: { onDone: () => void }) {
  return (
    <>
      <Notice icon="shield">{texts.factor.none}</Notice>
      <SetUpApp calls={waiting} onDone={onDone} />
    </>
  )
}

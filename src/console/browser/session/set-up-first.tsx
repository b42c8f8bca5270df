import { useQueryClient } from '@tanstack/react-query'
import { SetUpApp } from '../account/set-up-app.tsx'
import { Confirmations } from '../parts/confirmation.tsx'
import { Notice } from '../parts/notice.tsx'
import { Toasts } from '../parts/toasts.tsx'
import { Gate } from './gate.tsx'
import { renewSession } from './session.ts'
import { texts } from './texts.ts'

/** Sets up the first second factor, which the organisation demands, before the session begins. */
export function SetUpFirst({ onOther }: { onOther: () => void }) {
  const client = useQueryClient()
  return (
    <Gate title={texts.factor.title}>
      <Notice icon="shield">{texts.factor.none}</Notice>
      <Confirmations />
      <Toasts />
      <SetUpApp onDone={() => void renewSession(client)} />
      <div className="quiet-links">
        <button type="button" className="text-button" onClick={onOther}>
          {texts.factor.other}
        </button>
      </div>
    </Gate>
  )
}

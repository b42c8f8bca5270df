import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { Dialog } from '../parts/dialog.tsx'
import { say, sayFault } from '../parts/toasts.tsx'
import { FactorForm } from './factor-form.tsx'
import { type Method, renewSession, useProfile } from './session.ts'
import { texts } from './texts.ts'

export interface Organisation {
  id: string
  name: string
}

interface Waiting {
  organisation: Organisation
  methods: Method[]
}

/**
 * Switches the session to another organisation of the person. `dialog` has to be on the page: it asks for the second
 * factor, where the organisation demands one.
 */
export function useSwitch(): { switchTo: (organisation: Organisation) => Promise<void>; dialog: ReactNode } {
  const { current_tenant: here } = useProfile()
  const client = useQueryClient()
  const [waiting, setWaiting] = useState<Waiting | null>(null)
  const enter = async ({ name }: Organisation) => {
    setWaiting(null)
    await renewSession(client)
    say(texts.switch.done(name))
  }
  const switchTo = async (organisation: Organisation) => {
    if (organisation.id === here.id) return
    try {
      await call('POST /auth/switch-tenant/', { body: { tenant_id: organisation.id } })
      await enter(organisation)
    } catch (error) {
      const { code, members } = asProblem(error)
      if (code === 'otp_required') setWaiting({ organisation, methods: members.methods as Method[] })
      else sayFault(error)
    }
  }
  const dialog = waiting && (
    <FactorForm
      methods={waiting.methods}
      onDone={() => enter(waiting.organisation)}
      other={{ label: texts.switch.cancel, go: () => setWaiting(null) }}
    >
      {(about, form) => (
        <Dialog
          open
          onClose={() => setWaiting(null)}
          title={texts.factor.title}
          about={
            <>
              {texts.switch.demands(waiting.organisation.name)} {about}
            </>
          }
        >
          <div className="dialog-body">{form}</div>
        </Dialog>
      )}
    </FactorForm>
  )
  return { switchTo, dialog }
}

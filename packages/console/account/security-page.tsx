import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { Dialog, FormDialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { Empty, Notice } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { say, sayFault } from '../parts/toasts.tsx'
import { canUsePasskeys, makePasskey } from '../session/passkey.ts'
import { sessionQuery, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { FactorRow } from './factor-row.tsx'
import { IdentitiesCard } from './identities-card.tsx'
import { PasswordCard } from './password-card.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { SetUpApp } from './set-up-app.tsx'
import { texts } from './texts.ts'

const { security: words } = texts
const devicesKey = ['devices']

export function SecurityPage() {
  return (
    <Page title={words.title} about={words.about} width="text">
      <PasswordCard />
      <IdentitiesCard />
      <Factors />
    </Page>
  )
}

function Factors() {
  const client = useQueryClient()
  const { mfa_enabled: on } = useProfile()
  const [adding, setAdding] = useState(false)
  const [making, setMaking] = useState(false)
  const [codes, setCodes] = useState<string[] | null>(null)
  const [replacing, setReplacing] = useState(false)
  const devices = useQuery({
    queryKey: devicesKey,
    queryFn: ({ signal }) => call('GET /auth/otp/devices/', { query: { page_size: 100 }, signal }),
  })
  const reload = async () => {
    await client.invalidateQueries({ queryKey: devicesKey })
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
  }
  const shown = devices.data?.results.filter(({ is_confirmed }) => is_confirmed) ?? []
  const hasCodes = shown.some(({ type }) => type === 'static')
  const makeCodes = async () => {
    const answer = await confirmed(
      (current_password) => call('POST /auth/otp/static/generate/', { body: { current_password } }),
      {
        takesPassword: true,
      },
    )
    setCodes(answer.codes)
    await reload()
  }
  const makeFirstCodes = () =>
    makeCodes().catch((error) => {
      sayFault(error)
    })
  return (
    <Card
      title={words.factors}
      about={words.factorsAbout}
      actions={
        <>
          {canUsePasskeys() && (
            <Button icon="key" onClick={() => setMaking(true)}>
              {words.addPasskey}
            </Button>
          )}
          <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
            {words.addApp}
          </Button>
        </>
      }
    >
      {on && shown.length > 0 && !hasCodes && (
        <div className="card-body">
          <Notice tone="warn">
            <p>{words.codesMissing}</p>
          </Notice>
        </div>
      )}
      {!devices.data && <Loading query={devices} rows={2} />}
      {devices.data && shown.length === 0 && (
        <Empty icon="shield" title={words.none}>
          {words.noneAbout}
        </Empty>
      )}
      {shown.length > 0 && (
        <ul className="rows">
          {shown.map((device) => (
            <FactorRow key={device.id} device={device} onChange={reload} />
          ))}
        </ul>
      )}
      {shown.length > 0 && (
        <div className="card-foot">
          <Button icon="key" onClick={() => (hasCodes ? setReplacing(true) : void makeFirstCodes())}>
            {hasCodes ? words.newCodes : words.makeCodes}
          </Button>
        </div>
      )}
      <Dialog open={adding} onClose={() => setAdding(false)} title={texts.app.title}>
        <div className="dialog-body">
          <SetUpApp
            onDone={() => {
              setAdding(false)
              say(texts.app.done)
              void reload()
            }}
          />
        </div>
      </Dialog>
      <FormDialog
        open={replacing}
        onClose={() => setReplacing(false)}
        title={texts.codes.replace}
        about={texts.codes.replaceAbout}
        go={texts.codes.go}
        submit={makeCodes}
      />
      <FormDialog
        open={making}
        onClose={() => setMaking(false)}
        title={words.addPasskey}
        about={words.passkeyAbout}
        go={words.continue}
        submit={async (form) => {
          await addPasskey(textOf(form, 'name'))
          await reload()
          say(words.passkeyAdded)
        }}
      >
        <TextField label={words.passkeyName} hint={words.passkeyHint} name="name" maxLength={120} autoFocus />
      </FormDialog>
      <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />
    </Card>
  )
}

async function addPasskey(name: string): Promise<void> {
  const options = await confirmed(
    (current_password) => call('POST /auth/passkeys/registration/', { body: { current_password } }),
    { takesPassword: true },
  )
  const credential = await makePasskey(options)
  await call('POST /auth/passkeys/', { body: { ...(name && { name }), credential } })
}

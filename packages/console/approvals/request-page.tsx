import type { ApprovalRequest } from '@bailiwick/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { call, request as send } from '../api/client.ts'
import { asRequest } from '../audit/in-words.ts'
import { Badge, Button } from '../parts/button.tsx'
import { confirmed, withPassword } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextArea } from '../parts/field.tsx'
import { BackLink } from '../parts/links.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Empty, Notice } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { say, sayFault } from '../parts/toasts.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { useSwitch } from '../session/switch-organisation.tsx'
import { textOf } from '../session/use-submit.ts'
import { tones } from './approvals-page.tsx'
import { Change } from './change.tsx'
import { RequestFacts } from './facts.tsx'
import { ReadValues } from './read-values.tsx'
import { texts } from './texts.ts'
import { Votes } from './votes.tsx'

const { request: words } = texts

const back = <BackLink to="/approvals">{words.back}</BackLink>

export function RequestPage() {
  const { id = '' } = useParams({ strict: false })
  const { organisation } = useSearch({ strict: false }) as { organisation?: string }
  const { current_tenant: here, memberships } = useProfile()
  const elsewhere = memberships.find(({ tenant }) => tenant.id === organisation && tenant.id !== here.id)
  const query = useQuery({
    queryKey: ['approvals', 'one', id],
    queryFn: ({ signal }) => call('GET /approval-requests/{id}/', { path: { id }, signal }),
    enabled: !elsewhere,
  })
  if (elsewhere) return <Elsewhere tenant={elsewhere.tenant} />
  if (query.data) return <Request request={query.data} />
  return <LoadingPage query={query} title={texts.title} width="text" actions={back} />
}

/** A link from a mail about another organisation of the person. */
function Elsewhere({ tenant }: { tenant: { id: string; name: string } }) {
  const { switchTo, dialog } = useSwitch()
  return (
    <Page title={texts.title} width="text">
      <Card>
        <Empty
          icon="building"
          title={words.elsewhere(tenant.name)}
          action={
            <Button kind="primary" onClick={() => void switchTo(tenant)}>
              {words.enter}
            </Button>
          }
        />
      </Card>
      {dialog}
    </Page>
  )
}

type CallRequest = ApprovalRequest & { kind: 'call' }

/** Repeats the call that was approved. Gives the key or secret of its answer, which the service does not show again. */
async function carriedOut({ id, context }: CallRequest): Promise<string | null> {
  const { method, path, body } = context
  const answer = await confirmed(
    (current_password) =>
      send(`${method} ${path.replace(/^\/api\/v1/, '')}`, {
        ...(method !== 'DELETE' && { body: withPassword(body as object, current_password) }),
        approvalRequest: id,
      }),
    { takesPassword: /\/keys\//.test(path) },
  )
  const { key, secret } = (answer ?? {}) as { key?: string; secret?: string }
  return (/\/keys\//.test(path) ? key : secret) ?? null
}

type Act = 'approve' | 'reject' | 'cancel'

function Request({ request }: { request: ApprovalRequest }) {
  const { id, status, action } = request
  const client = useQueryClient()
  const may = useMay()
  const { id: me } = useProfile()
  const [asked, setAsked] = useState<Act | null>(null)
  const own = request.requester.id === me || request.subject.id === me
  const reload = () => client.invalidateQueries({ queryKey: ['approvals'] })
  const runs: Record<Act, (comment: string) => Promise<unknown>> = {
    approve: (comment) => call('POST /approval-requests/{id}/approve/', { path: { id }, body: { comment } }),
    reject: (comment) => call('POST /approval-requests/{id}/reject/', { path: { id }, body: { comment } }),
    cancel: () => call('POST /approval-requests/{id}/cancel/', { path: { id }, body: {} }),
  }
  const [busy, setBusy] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const carryOut = async (call: CallRequest) => {
    setBusy(true)
    try {
      setSecret(await carriedOut(call))
      say(words.ran)
    } catch (error) {
      sayFault(error)
    }
    setBusy(false)
    await reload()
  }
  const titles = { approve: words.approveTitle, reject: words.rejectTitle, cancel: words.cancelTitle }
  const abouts = { approve: words.approveAbout, reject: words.rejectAbout, cancel: words.cancelAbout }
  const pending = status === 'pending'
  // A sign-in to an application is no call of the API: the application begins it again.
  const isRepeatable = request.kind === 'call' && request.context.path.startsWith('/api/')
  return (
    <Page
      title={asRequest(action)}
      width="text"
      about={<Badge tone={tones[status]}>{texts.status[status]}</Badge>}
      actions={back}
    >
      {status === 'approved' && own && (
        <Notice tone="good" icon="check">
          <div className="line">
            <p>{isRepeatable ? words.runAbout : words.useAbout}</p>
            {isRepeatable && (
              <Button kind="primary" busy={busy} onClick={() => void carryOut(request)}>
                {words.run}
              </Button>
            )}
          </div>
        </Notice>
      )}
      <Card>
        <div className="card-body">
          <RequestFacts request={request} />
        </div>
        {pending && (
          <div className="card-foot">
            <span>{words.needed(request.required_approvals, request.can_vote)}</span>
            <div className="line">
              {(own || may('approval_request:cancel')) && (
                <Button kind="quiet" onClick={() => setAsked('cancel')}>
                  {words.cancel}
                </Button>
              )}
              {request.can_vote && (
                <>
                  <Button kind="danger-quiet" icon="close" onClick={() => setAsked('reject')}>
                    {words.reject}
                  </Button>
                  <Button kind="primary" icon="check" onClick={() => setAsked('approve')}>
                    {words.approve}
                  </Button>
                </>
              )}
            </div>
          </div>
        )}
      </Card>
      <Card title={request.kind === 'call' ? words.body : words.read}>
        <div className="card-body">
          {request.kind === 'call' ? <Change request={request} /> : <ReadValues request={request} />}
        </div>
      </Card>
      <Card title={words.votes}>
        <div className="card-body">
          <Votes votes={request.votes} />
        </div>
      </Card>
      {secret && <SecretDialog title={words.secret} secret={secret} onDone={() => setSecret(null)} />}
      {asked && (
        <FormDialog
          open
          onClose={() => setAsked(null)}
          danger={asked !== 'approve'}
          title={titles[asked]}
          about={abouts[asked]}
          go={words[asked]}
          submit={async (form) => {
            await runs[asked](textOf(form, 'comment'))
            await reload()
            say(words.done[asked])
          }}
        >
          {asked !== 'cancel' && <TextArea label={words.comment} name="comment" maxLength={2000} autoFocus />}
        </FormDialog>
      )}
    </Page>
  )
}

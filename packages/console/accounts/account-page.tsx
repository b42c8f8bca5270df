import type { ServiceAccount } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { call, callVersioned } from '../api/client.ts'
import { keysOf } from '../keys/key-calls.ts'
import { KeyList } from '../keys/key-list.tsx'
import { texts as keyTexts } from '../keys/texts.ts'
import { useDepartments } from '../members/queries.ts'
import { UserName } from '../members/user-name.tsx'
import { changed } from '../parts/approvable.ts'
import { Badge, Badges, Button } from '../parts/button.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { BackLink } from '../parts/links.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Menu, MenuItem, MenuLine } from '../parts/menu.tsx'
import { Notice } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { AccountForm, type Opened } from './account-form.tsx'
import { tones } from './accounts-page.tsx'
import { texts } from './texts.ts'
import { TrustsCard } from './trusts-card.tsx'

/** A service account: what it is, its keys, and what can be done with it. */
export function AccountPage() {
  const { id = '' } = useParams({ strict: false })
  const { id: tenant } = useProfile().current_tenant
  const query = useQuery({
    queryKey: ['accounts', tenant, 'one', id],
    queryFn: ({ signal }) => callVersioned('GET /service-accounts/{id}/', { path: { id }, signal }),
  })
  if (query.data) return <One opened={query.data} />
  return <LoadingPage query={query} title={texts.title} actions={back} />
}

const back = <BackLink to="/service-accounts">{texts.back}</BackLink>

function One({ opened }: { opened: Opened }) {
  const { body: account } = opened
  const { id, name, status } = account
  return (
    <Page
      title={name}
      about={<Badge tone={tones[status]}>{texts.status[status]}</Badge>}
      actions={
        <>
          {back}
          <Actions opened={opened} />
        </>
      }
    >
      {status === 'disabled' && (
        <Notice tone="warn" title={texts.off.title}>
          <p>{texts.off.about}</p>
        </Notice>
      )}
      <Card>
        <div className="card-body">
          <Known account={account} />
        </div>
      </Card>
      <KeyList calls={keysOf(id)} {...keyTexts.ofAccount} />
      <TrustsCard account={id} />
    </Page>
  )
}

function Known({ account }: { account: ServiceAccount }) {
  const { description, roles, department_id, created_at, created_by, last_used_at } = account
  const { facts: words } = texts
  const department = useDepartments().data?.results.find(({ id }) => id === department_id)
  return (
    <Facts
      of={[
        [words.description, description && <bdi>{description}</bdi>],
        [words.roles, <Badges of={roles} />],
        [words.department, department && <bdi>{department.name}</bdi>],
        [
          words.created,
          <>
            <Time at={created_at} />
            {created_by && (
              <>
                {' '}
                {words.by} <UserName id={created_by} />
              </>
            )}
          </>,
        ],
        [words.used, last_used_at ? <Time at={last_used_at} /> : texts.never],
      ]}
    />
  )
}

type Asked = 'edit' | 'disable' | 'remove' | null

function Actions({ opened }: { opened: Opened }) {
  const { id, name, status } = opened.body
  const navigate = useNavigate()
  const may = useMay()
  const [asked, setAsked] = useState<Asked>(null)
  const close = () => setAsked(null)
  const act = (run: () => Promise<unknown>, done: string) => changed('accounts', run, done)
  const set = (status: ServiceAccount['status']) => () =>
    call('PATCH /service-accounts/{id}/', { path: { id }, body: { status } })
  const remove = async () => {
    const run = () => call('DELETE /service-accounts/{id}/', { path: { id } })
    if (await act(run, texts.removed)) await navigate({ to: '/service-accounts' })
  }
  return (
    <>
      {(may('service_account:update') || may('service_account:delete')) && (
        <Menu trigger={<Button icon="dots" aria-label={texts.actions} />}>
          {may('service_account:update') && (
            <>
              <MenuItem icon="robot" onClick={() => setAsked('edit')}>
                {texts.edit}
              </MenuItem>
              {status === 'active' ? (
                <MenuItem icon="lock" onClick={() => setAsked('disable')}>
                  {texts.disable}
                </MenuItem>
              ) : (
                <MenuItem icon="check" onClick={() => void act(set('active'), texts.enabled).catch(sayFault)}>
                  {texts.enable}
                </MenuItem>
              )}
              <MenuLine />
            </>
          )}
          {may('service_account:delete') && (
            <MenuItem icon="trash" danger onClick={() => setAsked('remove')}>
              {texts.remove}
            </MenuItem>
          )}
        </Menu>
      )}
      {asked === 'edit' && <AccountForm account={opened} onClose={close} />}
      {(asked === 'disable' || asked === 'remove') && (
        <FormDialog
          open
          danger
          onClose={close}
          title={(asked === 'disable' ? texts.disabling : texts.removing).title(name)}
          about={(asked === 'disable' ? texts.disabling : texts.removing).about}
          go={asked === 'disable' ? texts.disable : texts.remove}
          submit={() => (asked === 'disable' ? act(set('disabled'), texts.disabled) : remove())}
        />
      )}
    </>
  )
}

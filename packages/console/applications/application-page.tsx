import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { call, callVersioned } from '../api/client.ts'
import { faultOf } from '../api/problem.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { useFilters } from '../parts/filters.ts'
import { BackLink } from '../parts/links.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { usesSecrets } from './advanced.tsx'
import { ApplicationForm, type Opened } from './application-form.tsx'
import { StateBadges } from './applications-page.tsx'
import { LogoutsCard } from './logouts-card.tsx'
import { LookCard } from './look-card.tsx'
import { PeopleCard } from './people-card.tsx'
import { SecretsCard } from './secrets-card.tsx'
import { SettingsCard, SnippetCard } from './settings.tsx'
import { texts } from './texts.ts'

/** An application: its settings, its secrets, and what can be done with it. */
export function ApplicationPage() {
  const { id = '' } = useParams({ strict: false })
  const { id: tenant } = useProfile().current_tenant
  const query = useQuery({
    queryKey: ['clients', tenant, 'one', id],
    queryFn: ({ signal }) => callVersioned('GET /oauth-clients/{id}/', { path: { id }, signal }),
  })
  if (query.data) return <One opened={query.data} />
  return <LoadingPage query={query} title={texts.title} actions={back} />
}

const back = <BackLink to="/applications">{texts.back}</BackLink>

function One({ opened }: { opened: Opened }) {
  const { body: client } = opened
  const may = useMay()
  const [{ tab = '' }, change] = useFilters()
  const { settings, look, people, logouts } = texts.tabsOfOne
  const tabs = {
    settings,
    ...(client.kind !== 'machine' && { look }),
    ...(client.kind !== 'machine' && may('oauth_grant:list') && { people }),
    ...(client.backchannel_logout_uri !== null && { logouts }),
  } as typeof texts.tabsOfOne
  const shown = (tab in tabs ? tab : 'settings') as keyof typeof tabs
  return (
    <Page
      title={client.name}
      about={<StateBadges active={client.is_active} firstParty={client.first_party} />}
      actions={
        <>
          {back}
          <Actions opened={opened} />
        </>
      }
    >
      {!client.is_active && (
        <Notice tone="warn" title={texts.offNotice.title}>
          <p>{texts.offNotice.about}</p>
        </Notice>
      )}
      {Object.keys(tabs).length > 1 && (
        <Tabs
          label={texts.viewsOfOne}
          tabs={tabs}
          shown={shown}
          onChange={(tab) => change({ tab, status: undefined })}
        />
      )}
      {shown === 'look' && <LookCard key={JSON.stringify(client.branding)} opened={opened} />}
      {shown === 'people' && <PeopleCard client={client} />}
      {shown === 'logouts' && <LogoutsCard client={client} />}
      {shown === 'settings' && (
        <>
          <SettingsCard client={client} secret={null} />
          {usesSecrets(client) && <SecretsCard client={client} />}
          <SnippetCard client={client} secret={null} />
        </>
      )}
    </Page>
  )
}

function Actions({ opened }: { opened: Opened }) {
  const { id, name } = opened.body
  const navigate = useNavigate()
  const may = useMay()
  const [asked, setAsked] = useState<'edit' | 'remove' | null>(null)
  const close = () => setAsked(null)
  const remove = async (form: FormData) => {
    if (textOf(form, 'again') !== name) throw faultOf('again', texts.removing.wrong(name))
    const run = () => call('DELETE /oauth-clients/{id}/', { path: { id } })
    if (await changed('clients', run, texts.removed)) await navigate({ to: '/applications' })
  }
  return (
    <>
      {(may('oauth_client:update') || may('oauth_client:delete')) && (
        <Menu trigger={<Button icon="dots" aria-label={texts.actions} />}>
          {may('oauth_client:update') && (
            <MenuItem icon="grid" onClick={() => setAsked('edit')}>
              {texts.edit}
            </MenuItem>
          )}
          {may('oauth_client:delete') && (
            <MenuItem icon="trash" danger onClick={() => setAsked('remove')}>
              {texts.remove}
            </MenuItem>
          )}
        </Menu>
      )}
      {asked === 'edit' && <ApplicationForm application={opened} onClose={close} />}
      {asked === 'remove' && (
        <FormDialog
          open
          danger
          onClose={close}
          title={texts.removing.title(name)}
          about={texts.removing.about}
          go={texts.remove}
          submit={remove}
        >
          <TextField
            label={texts.removing.again}
            hint={<bdi>{name}</bdi>}
            name="again"
            autoComplete="off"
            autoFocus
          />
        </FormDialog>
      )}
    </>
  )
}

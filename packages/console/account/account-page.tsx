import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Avatar } from '../parts/avatar.tsx'
import { Badge, Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { PasswordField, TextField } from '../parts/field.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Refused } from '../parts/refused.tsx'
import { say, sayFault } from '../parts/toasts.tsx'
import { sessionQuery, useProfile } from '../session/session.ts'
import { textOf, useSubmit } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { profile: words } = texts

export function ProfilePage() {
  return (
    <Page title={words.title} about={words.about} width="text">
      <Names />
      <Address />
      <Organisations />
      <Deletion />
    </Page>
  )
}

function useReload() {
  const client = useQueryClient()
  return () => client.invalidateQueries({ queryKey: sessionQuery.queryKey })
}

function Names() {
  const { first_name, last_name } = useProfile()
  const reload = useReload()
  const { busy, problem, onSubmit } = useSubmit(async (form) => {
    const names = { first_name: textOf(form, 'first_name'), last_name: textOf(form, 'last_name') }
    await call('PATCH /users/me/', { body: names })
    await reload()
    say(words.saved)
  })
  return (
    <form onSubmit={onSubmit}>
      <Card
        title={words.card}
        foot={
          <Button type="submit" kind="primary" busy={busy}>
            {words.save}
          </Button>
        }
      >
        <div className="card-body">
          <Refused problem={problem}>
            <div className="columns">
              <TextField
                label={words.first}
                name="first_name"
                defaultValue={first_name}
                autoComplete="given-name"
                maxLength={150}
              />
              <TextField
                label={words.last}
                name="last_name"
                defaultValue={last_name}
                autoComplete="family-name"
                maxLength={150}
              />
            </div>
          </Refused>
        </div>
      </Card>
    </form>
  )
}

function Address() {
  const { email, email_verified: verified } = useProfile()
  const reload = useReload()
  const [changing, setChanging] = useState(false)
  const verify = () => call('POST /auth/email/verify/send/').then(() => say(words.verifySent), sayFault)
  return (
    <Card
      title={words.email}
      about={words.emailAbout}
      actions={<Button onClick={() => setChanging(true)}>{words.change}</Button>}
    >
      <div className="card-body">
        <div className="line">
          <bdi>{email}</bdi>
          <Badge tone={verified ? 'good' : 'warn'}>{verified ? words.verified : words.unverified}</Badge>
          {!verified && (
            <button type="button" className="text-button small" onClick={() => void verify()}>
              {words.verify}
            </button>
          )}
        </div>
      </div>
      <FormDialog
        open={changing}
        onClose={() => setChanging(false)}
        title={words.change}
        about={words.changeAbout}
        go={words.change}
        submit={async (form) => {
          const change = { email: textOf(form, 'email'), current_password: textOf(form, 'current_password') }
          await confirmed(() => call('PATCH /users/me/', { body: change }))
          await reload()
          say(words.changed, words.changedAbout)
        }}
      >
        <TextField label={words.newEmail} name="email" type="email" autoComplete="email" required autoFocus />
        <PasswordField
          label={words.password}
          name="current_password"
          autoComplete="current-password"
          required
        />
      </FormDialog>
    </Card>
  )
}

function Organisations() {
  const { memberships, current_tenant: here } = useProfile()
  return (
    <Card title={words.organisations} about={words.organisationsAbout}>
      <ul className="rows">
        {memberships.map(({ tenant, roles }) => (
          <li key={tenant.id}>
            <Avatar square name={tenant.name} of={tenant.id} />
            <div className="what">
              <p>
                <bdi>{tenant.name}</bdi>
              </p>
              <p className="muted small">{tenant.slug}</p>
            </div>
            <div className="line">
              {roles.map((role) => (
                <Badge key={role}>
                  <bdi>{role}</bdi>
                </Badge>
              ))}
              {tenant.id === here.id && <Badge tone="accent">{words.here}</Badge>}
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function Deletion() {
  const reload = useReload()
  const [open, setOpen] = useState(false)
  return (
    <Card
      danger
      title={words.danger}
      about={words.dangerAbout}
      actions={
        <Button kind="danger-quiet" onClick={() => setOpen(true)}>
          {words.delete}
        </Button>
      }
    >
      <FormDialog
        open={open}
        onClose={() => setOpen(false)}
        danger
        title={words.deleteTitle}
        about={words.dangerAbout}
        go={words.delete}
        submit={async (form) => {
          await call('DELETE /users/me/', { body: { current_password: textOf(form, 'current_password') } })
          await reload()
        }}
      >
        <PasswordField
          label={words.password}
          name="current_password"
          autoComplete="current-password"
          required
          autoFocus
        />
      </FormDialog>
    </Card>
  )
}

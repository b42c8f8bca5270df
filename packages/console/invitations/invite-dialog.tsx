import type { Role } from '@bailiwick/client'
import { Problem } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem, faultOf } from '../api/problem.ts'
import { DepartmentField } from '../members/department-field.tsx'
import { RoleChoice } from '../members/role-choice.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextArea } from '../parts/field.tsx'
import { Notice } from '../parts/notice.tsx'
import { say } from '../parts/toasts.tsx'
import { useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { readAddresses } from './read-addresses.ts'
import { texts } from './texts.ts'

const { dialog: words } = texts

/** Invites many people at once. Those who could not be invited stay in the field, with the reason. */
export function InviteDialog({
  open,
  onClose,
  roles,
}: {
  open: boolean
  onClose: () => void
  roles: Role[]
}) {
  const client = useQueryClient()
  const { id } = useProfile().current_tenant
  const [text, setText] = useState('')
  const [refused, setRefused] = useState<[string, string][]>([])
  const { emails, wrong } = readAddresses(text)
  const [done, setDone] = useState<number | null>(null)
  const close = () => {
    setText('')
    setRefused([])
    onClose()
  }

  const invite = async (form: FormData) => {
    const fault = wrong.length > 0 ? words.wrong(wrong) : emails.length === 0 ? words.none : null
    if (fault) throw faultOf('email', fault)
    const shared = {
      // Without the list of roles there was no choice, and the service gives the usual role.
      ...(roles.length > 0 && { roles: form.getAll('roles').map(String) }),
      department_id: textOf(form, 'department') || null,
      message: textOf(form, 'message'),
    }
    const faults: [string, string][] = []
    for (const [index, email] of emails.entries()) {
      setDone(index)
      await call('POST /tenants/{id}/invitations/', { path: { id }, body: { email, ...shared } }).catch(
        (error) => faults.push([email, asProblem(error).message]),
      )
    }
    setDone(null)
    await client.invalidateQueries({ queryKey: ['invitations'] })
    if (emails.length > faults.length) say(words.done(emails.length - faults.length))
    setRefused(faults)
    setText(faults.map(([email]) => email).join('\n'))
    if (faults.length > 0) throw new Problem(400, { detail: '' })
  }
  return (
    <FormDialog
      {...{ open }}
      onClose={close}
      title={words.title}
      about={words.about}
      go={done === null ? words.go(emails.length) : texts.csv.going(done, emails.length)}
      submit={invite}
    >
      {refused.length > 0 && (
        <Notice tone="danger" title={words.failed(refused.length)}>
          <ul>
            {refused.map(([email, why]) => (
              <li key={email}>
                <bdi>{email}</bdi>: {why}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <TextArea
        label={words.emails}
        hint={words.hint}
        name="email"
        rows={4}
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <RoleChoice
        label={words.roles}
        roles={roles.filter(({ name }) => name !== 'owner')}
        chosen={['member']}
      />
      <DepartmentField />
      <TextArea label={words.message} name="message" rows={2} maxLength={500} />
    </FormDialog>
  )
}

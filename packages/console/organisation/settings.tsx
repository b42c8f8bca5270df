import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call, type Input } from '../api/client.ts'
import { approvable } from '../parts/approvable.ts'
import { confirmed } from '../parts/confirmation.tsx'
import { CopyValue } from '../parts/copy.tsx'
import { Facts } from '../parts/facts.tsx'
import { CheckField, SelectField, TextArea, TextField } from '../parts/field.tsx'
import { FormCard } from '../parts/form-card.tsx'
import { Time } from '../parts/time.tsx'
import { sessionQuery, useProfile } from '../session/session.ts'
import { textOf, useSubmit } from '../session/use-submit.ts'
import type { Read } from './organisation-page.tsx'
import { texts } from './texts.ts'

type Change = NonNullable<Input<'PATCH /tenants/{id}/'>['body']>

/** Sends what a form changes. A change by another person in the meantime is refused, not overwritten. */
export function useSave({ tenant, etag }: Read, changeOf: (form: FormData) => Change, done: string) {
  const client = useQueryClient()
  return useSubmit(async (form) => {
    await approvable(
      () =>
        confirmed(() =>
          call('PATCH /tenants/{id}/', {
            path: { id: tenant.id },
            body: changeOf(form),
            ...(etag && { ifMatch: etag }),
          }),
        ),
      done,
    )
    await Promise.all([
      client.invalidateQueries({ queryKey: ['tenant'] }),
      client.invalidateQueries({ queryKey: sessionQuery.queryKey }),
    ])
  })
}

export interface Shown extends Read {
  fixed: boolean
}

type SubjectId = Read['tenant']['settings']['subject_id']

const zones = Intl.supportedValuesOf('timeZone')

export function GeneralCard({ fixed, ...read }: Shown) {
  const { general: words } = texts
  const { id, name, slug, created_at: created, member_count: members, settings } = read.tenant
  const save = useSave(
    read,
    (form) => ({
      name: textOf(form, 'name'),
      settings: {
        time_zone: textOf(form, 'settings.time_zone'),
        subject_id: textOf(form, 'settings.subject_id') as SubjectId,
      },
    }),
    words.done,
  )
  return (
    <FormCard title={words.title} save={save} go={words.save} fixed={fixed}>
      <TextField
        label={words.name}
        name="name"
        defaultValue={name}
        maxLength={120}
        required
        disabled={fixed}
      />
      <TextField
        label={words.zone}
        hint={words.zoneHint}
        name="settings.time_zone"
        list="zones"
        autoComplete="off"
        defaultValue={settings.time_zone}
        disabled={fixed}
      />
      <datalist id="zones">
        {['UTC', ...zones].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <SelectField
        label={words.subjectId}
        hint={words.subjectIdHint}
        name="settings.subject_id"
        defaultValue={settings.subject_id}
        disabled={fixed}
      >
        {(Object.keys(words.subjectIds) as SubjectId[]).map((kind) => (
          <option key={kind} value={kind}>
            {words.subjectIds[kind]}
          </option>
        ))}
      </SelectField>
      <Facts
        of={[
          [
            words.slug,
            <>
              <code>{slug}</code> <span className="muted small">{words.slugHint}</span>
            </>,
          ],
          [words.id, <CopyValue text={id} of={words.id} />],
          [words.members, members.toLocaleString('en')],
          [words.created, <Time at={created} form="day" />],
        ]}
      />
    </FormCard>
  )
}

export function EntryCard({ fixed, ...read }: Shown) {
  const { entry: words } = texts
  const { mfa_enabled: hasFactor } = useProfile()
  const { require_mfa: required, sso, allowed_email_domains: domains } = read.tenant.settings
  const save = useSave(
    read,
    (form) => ({
      settings: {
        ...((hasFactor || required) && { require_mfa: form.get('mfa') !== null }),
        ...(form.has('sso') !== (sso === 'required') && { sso: form.has('sso') ? 'required' : 'optional' }),
        allowed_email_domains: textOf(form, 'settings.allowed_email_domains')
          .split(/[\s,;]+/)
          .filter((domain) => domain !== ''),
      },
    }),
    words.done,
  )
  return (
    <FormCard title={words.title} save={save} go={words.save} fixed={fixed}>
      <CheckField
        name="mfa"
        label={words.mfa}
        hint={words.mfaAbout}
        defaultChecked={required}
        disabled={fixed || !(hasFactor || required)}
      />
      {!hasFactor && !required && !fixed && (
        <p className="small muted">
          {words.locked} <Link to="/account/security">{words.toSecurity}</Link>
        </p>
      )}
      <CheckField
        name="sso"
        label={words.sso}
        hint={words.ssoAbout}
        defaultChecked={sso === 'required'}
        disabled={fixed}
      />
      <TextArea
        label={words.domains}
        hint={words.domainsHint}
        name="settings.allowed_email_domains"
        rows={3}
        defaultValue={domains.join('\n')}
        disabled={fixed}
      />
    </FormCard>
  )
}

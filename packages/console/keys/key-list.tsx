import type { ApiKey } from '@bailiwick/client'
import { useState } from 'react'
import { changed } from '../parts/approvable.ts'
import { Badge, Badges, Button } from '../parts/button.tsx'
import { confirmed, withPassword } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { SelectField } from '../parts/field.tsx'
import { FilteredList } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import type { KeyCalls, NewKey } from './key-calls.ts'
import { KeyForm } from './key-form.tsx'
import { texts } from './texts.ts'

type Asked = { act: 'rotate' | 'revoke'; key: ApiKey } | 'create' | null
/** A key that was just made, and until when the one that it replaces works. */
type Made = { key: string; until?: string }

/** The keys of a holder, and what can be done with them. */
export function KeyList({ calls, title, about }: { calls: KeyCalls; title: string; about: string }) {
  const may = useMay()
  const [asked, setAsked] = useState<Asked>(null)
  const [made, setMade] = useState<Made | null>(null)
  const can = (act: keyof KeyCalls['needs']) => calls.needs[act] === undefined || may(calls.needs[act])
  const close = () => setAsked(null)
  const act = (run: () => Promise<unknown>, done: string) => changed('keys', run, done)
  const create = (body: NewKey) =>
    act(
      () =>
        confirmed(
          async (current_password) => setMade(await calls.create(withPassword(body, current_password))),
          {
            takesPassword: true,
          },
        ),
      texts.created,
    )
  const rotate = ({ id, expires_at }: ApiKey, overlap: number) =>
    act(
      () =>
        confirmed(
          async (current_password) => {
            const { key, created_at } = await calls.rotate(id, withPassword({ overlap }, current_password))
            const end = Math.min(Date.parse(created_at) + overlap * 1_000, Date.parse(expires_at))
            setMade({ key, ...(overlap > 0 && { until: new Date(end).toISOString() }) })
          },
          { takesPassword: true },
        ),
      texts.rotated,
    )
  return (
    <>
      <FilteredList
        name="keys"
        of={calls.holder ?? 'own'}
        card={{
          title,
          about,
          actions: can('create') && (
            <Button kind="primary" icon="plus" onClick={() => setAsked('create')}>
              {texts.create}
            </Button>
          ),
        }}
        columns={texts.columns}
        empty={{ icon: 'key', ...texts.empty }}
        read={({ cursor }, signal) => calls.list(cursor, signal)}
        row={(key) => (
          <Row
            apiKey={key}
            onRotate={can('rotate') ? () => setAsked({ act: 'rotate', key }) : null}
            onRevoke={can('delete') ? () => setAsked({ act: 'revoke', key }) : null}
          />
        )}
      />
      {asked === 'create' && <KeyForm onClose={close} create={create} />}
      {asked !== null && asked !== 'create' && asked.act === 'revoke' && (
        <FormDialog
          open
          danger
          onClose={close}
          title={texts.revoking.title(asked.key.name)}
          about={texts.revoking.about}
          go={texts.revoke}
          submit={() => act(() => calls.revoke(asked.key.id), texts.revoked)}
        />
      )}
      {asked !== null && asked !== 'create' && asked.act === 'rotate' && (
        <FormDialog
          open
          onClose={close}
          title={texts.rotating.title(asked.key.name)}
          about={texts.rotating.about}
          go={texts.rotating.go}
          submit={(form) => rotate(asked.key, Number(textOf(form, 'overlap')))}
        >
          <SelectField label={texts.rotating.overlap} name="overlap" defaultValue="3600">
            {Object.entries(texts.rotating.overlaps).map(([seconds, text]) => (
              <option key={seconds} value={seconds}>
                {text}
              </option>
            ))}
          </SelectField>
        </FormDialog>
      )}
      {made && (
        <SecretDialog {...texts.secret} secret={made.key} onDone={() => setMade(null)}>
          {made.until && (
            <p className="muted small">
              {texts.secret.until} <Time at={made.until} form="exact" />.
            </p>
          )}
        </SecretDialog>
      )}
    </>
  )
}

function Row({
  apiKey: { name, prefix, scopes, last_used_at: used, expires_at: expires, successor_id: successor },
  onRotate,
  onRevoke,
}: {
  apiKey: ApiKey
  onRotate: (() => void) | null
  onRevoke: (() => void) | null
}) {
  const isOver = Date.parse(expires) <= Date.now()
  return (
    <tr>
      <td>
        <span className="line">
          <strong>
            <bdi>{name}</bdi>
          </strong>
          {isOver ? <Badge>{texts.expired}</Badge> : successor && <Badge tone="warn">{texts.replaced}</Badge>}
        </span>
        <code className="muted small block">{prefix}…</code>
      </td>
      <td className="muted" title={scopes?.join('\n')}>
        {scopes === null ? texts.everything : <Badges of={scopes} />}
      </td>
      <td className="muted" data-title={texts.columns[2]}>
        {used ? <Time at={used} /> : texts.never}
      </td>
      <td className="muted" data-title={texts.columns[3]}>
        <Time at={expires} />
      </td>
      <td className="end">
        {(onRevoke || onRotate) && (
          <Menu trigger={<Button kind="quiet" icon="dots" aria-label={texts.menu(name)} />}>
            {onRotate && !isOver && !successor && (
              <MenuItem icon="history" onClick={onRotate}>
                {texts.rotate}
              </MenuItem>
            )}
            {onRevoke && (
              <MenuItem icon="trash" danger onClick={onRevoke}>
                {texts.revoke}
              </MenuItem>
            )}
          </Menu>
        )}
      </td>
    </tr>
  )
}

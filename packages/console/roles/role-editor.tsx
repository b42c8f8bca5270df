import type { Role } from '@bailiwick/client'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { texts as memberTexts } from '../members/texts.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { EditDialog } from '../parts/edit-dialog.tsx'
import { TextArea } from '../parts/field.tsx'
import { NameFields } from '../parts/name-fields.tsx'
import { useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { isOfService, PermissionMatrix } from './permission-matrix.tsx'
import { texts } from './texts.ts'

const { editor: words } = texts

const permissionsOf = (form: FormData) => [
  ...form.getAll('permissions').map(String),
  ...textOf(form, 'own')
    .split(/[\s,]+/)
    .filter((permission) => permission !== ''),
]

/** Makes a role, or changes one. */
export function RoleEditor({ role, onClose }: { role: Role | 'new'; onClose: () => void }) {
  const { id } = useProfile().current_tenant
  const known = role === 'new' ? null : role
  const save = (form: FormData) => {
    const body = {
      name: textOf(form, 'name'),
      description: textOf(form, 'description'),
      permissions: permissionsOf(form),
    }
    if (!known) return call('POST /tenants/{id}/roles/', { path: { id }, body })
    const path = { id, rid: known.id }
    return ifUnchanged('GET /tenants/{id}/roles/{rid}/', path, known, (unchanged) =>
      call('PATCH /tenants/{id}/roles/{rid}/', { path, body, ...unchanged }),
    )
  }
  return (
    <EditDialog wide name="roles" done={texts} {...{ words, known, save, onClose }}>
      <div className="columns">
        <NameFields words={words} known={known} maxName={64} />
      </div>
      <PermissionMatrix label={words.permissions} held={known?.permissions ?? []} />
      <TextArea
        label={words.own}
        hint={words.ownHint}
        name="own"
        rows={3}
        className="mono"
        defaultValue={known?.permissions.filter((one) => !isOfService(one)).join('\n')}
      />
    </EditDialog>
  )
}

/** Shows the permissions of a role that is built in. */
export function RoleView({ role, onClose }: { role: Role; onClose: () => void }) {
  return (
    <Dialog open wide onClose={onClose} title={role.name} about={memberTexts.systemRoles[role.name]}>
      <div className="dialog-body">
        <PermissionMatrix fixed label={words.permissions} held={role.permissions} />
      </div>
      <div className="dialog-foot">
        <Button onClick={onClose}>{words.close}</Button>
      </div>
    </Dialog>
  )
}

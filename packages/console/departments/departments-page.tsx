import type { Department } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { useDepartments } from '../members/queries.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { EditDialog } from '../parts/edit-dialog.tsx'
import { SelectField } from '../parts/field.tsx'
import { List } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { NameFields } from '../parts/name-fields.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'
import { inTree } from './tree.ts'

/** What the editor is open for: a change, or a new department below another. */
type Editing = { department: Department } | { parent: string | null } | null

export function DepartmentsPage() {
  const { id } = useProfile().current_tenant
  const may = useMay()
  const query = useDepartments()
  const [editing, setEditing] = useState<Editing>(null)
  const [removing, setRemoving] = useState<Department | null>(null)
  const remove = async ({ id: did }: Department) => {
    const run = () => call('DELETE /tenants/{id}/departments/{did}/', { path: { id, did } })
    await changed('departments', run, texts.removed)
  }
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        may('department:create') && (
          <Button kind="primary" icon="plus" onClick={() => setEditing({ parent: null })}>
            {texts.create}
          </Button>
        )
      }
    >
      <Card>
        <List
          query={query}
          columns={texts.columns}
          empty={{ icon: 'tree', ...texts.empty }}
          arrange={inTree}
          row={({ department, depth }) => (
            <tr>
              <td className="branch" data-depth={Math.min(depth, 4)}>
                <strong>
                  <bdi>{department.name}</bdi>
                </strong>
                <bdi className="muted small block">{department.description}</bdi>
              </td>
              <td className="muted">{texts.members(department.member_count)}</td>
              <td className="end">
                {may('department:update') && (
                  <Menu
                    trigger={<Button kind="quiet" icon="dots" aria-label={texts.more(department.name)} />}
                  >
                    <MenuItem icon="tree" onClick={() => setEditing({ department })}>
                      {texts.edit}
                    </MenuItem>
                    <MenuItem icon="plus" onClick={() => setEditing({ parent: department.id })}>
                      {texts.below}
                    </MenuItem>
                    <MenuItem icon="trash" danger onClick={() => setRemoving(department)}>
                      {texts.remove}
                    </MenuItem>
                  </Menu>
                )}
              </td>
            </tr>
          )}
        />
      </Card>
      {editing && (
        <Editor editing={editing} departments={query.data?.results ?? []} onClose={() => setEditing(null)} />
      )}
      {removing && (
        <Removal
          texts={texts}
          name={removing.name}
          remove={() => remove(removing)}
          onClose={() => setRemoving(null)}
        />
      )}
    </Page>
  )
}

function Editor({
  editing,
  departments,
  onClose,
}: {
  editing: NonNullable<Editing>
  departments: Department[]
  onClose: () => void
}) {
  const { id } = useProfile().current_tenant
  const { editor: words } = texts
  const known = 'department' in editing ? editing.department : null
  const parent = 'department' in editing ? editing.department.parent_id : editing.parent
  const save = (form: FormData) => {
    const body = {
      name: textOf(form, 'name'),
      description: textOf(form, 'description'),
      parent_id: textOf(form, 'parent_id') || null,
    }
    if (!known) return call('POST /tenants/{id}/departments/', { path: { id }, body })
    const path = { id, did: known.id }
    return ifUnchanged('GET /tenants/{id}/departments/{did}/', path, known, (unchanged) =>
      call('PATCH /tenants/{id}/departments/{did}/', { path, body, ...unchanged }),
    )
  }
  return (
    <EditDialog name="departments" done={texts} {...{ words, known, save, onClose }}>
      <NameFields words={words} known={known} maxName={120} />
      <SelectField label={words.parent} name="parent_id" defaultValue={parent ?? ''}>
        <option value="">{words.top}</option>
        {departments
          .filter((one) => one.id !== known?.id)
          .map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
      </SelectField>
    </EditDialog>
  )
}

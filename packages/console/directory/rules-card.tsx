import type { DirectoryRule } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { DepartmentField } from '../members/department-field.tsx'
import { readAll, useDepartments, useRoles } from '../members/queries.ts'
import { RoleChoice } from '../members/role-choice.tsx'
import { changed } from '../parts/approvable.ts'
import { Badges, Button } from '../parts/button.tsx'
import { EditDialog } from '../parts/edit-dialog.tsx'
import { SelectField } from '../parts/field.tsx'
import { List } from '../parts/list.tsx'
import { Card } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { rules: words } = texts

/** What the groups of the directory give their members. */
export function RulesCard() {
  const { id: tenant } = useProfile().current_tenant
  const mayChange = useMay()('directory:update')
  const roles = useRoles().data?.results ?? []
  const departments = useDepartments().data?.results ?? []
  const [adding, setAdding] = useState(false)
  const [removed, setRemoved] = useState<DirectoryRule | null>(null)
  const query = useQuery({
    queryKey: ['directory', tenant, 'rules'],
    queryFn: ({ signal }) =>
      readAll((cursor) => call('GET /directory/rules/', { query: { page_size: 100, cursor }, signal })),
  })
  return (
    <Card
      title={words.title}
      about={words.about}
      actions={
        mayChange && (
          <Button icon="plus" onClick={() => setAdding(true)}>
            {words.create}
          </Button>
        )
      }
    >
      <List
        query={query}
        columns={words.columns}
        empty={{ icon: 'people', ...words.empty }}
        row={(rule) => (
          <tr>
            <td>
              <bdi>{rule.group_name}</bdi>
            </td>
            <td>
              <Badges of={rule.roles.map((id) => roles.find((one) => one.id === id)?.name ?? id)} />
            </td>
            <td className="muted">
              <bdi>{departments.find(({ id }) => id === rule.department_id)?.name ?? rule.department_id}</bdi>
            </td>
            <td className="end">
              {mayChange && (
                <Button
                  kind="quiet"
                  icon="trash"
                  aria-label={words.removeOf(rule.group_name)}
                  onClick={() => setRemoved(rule)}
                />
              )}
            </td>
          </tr>
        )}
      />
      {adding && <RuleForm onClose={() => setAdding(false)} />}
      {removed && (
        <Removal
          texts={words}
          name={removed.group_name}
          remove={() =>
            changed(
              'directory',
              () => call('DELETE /directory/rules/{id}/', { path: { id: removed.id } }),
              words.removed,
            )
          }
          onClose={() => setRemoved(null)}
        />
      )}
    </Card>
  )
}

function RuleForm({ onClose }: { onClose: () => void }) {
  const { id: tenant } = useProfile().current_tenant
  const roles = useRoles().data?.results.filter(({ name }) => name !== 'owner')
  const groups = useQuery({
    queryKey: ['directory', tenant, 'groups'],
    queryFn: ({ signal }) =>
      readAll((cursor) => call('GET /directory/groups/', { query: { page_size: 100, cursor }, signal })),
  }).data?.results
  const save = (form: FormData) =>
    call('POST /directory/rules/', {
      body: {
        group: textOf(form, 'group'),
        roles: form.getAll('roles').map(String),
        department_id: textOf(form, 'department') || null,
      },
    })
  return (
    <EditDialog name="directory" known={null} done={words} {...{ words, save, onClose }}>
      <SelectField label={words.group} name="group" required>
        {groups?.map(({ id, display_name: name, members }) => (
          <option key={id} value={id}>
            {words.members(name, members)}
          </option>
        ))}
      </SelectField>
      {roles && <RoleChoice label={words.roles} roles={roles} chosen={[]} />}
      <DepartmentField />
    </EditDialog>
  )
}

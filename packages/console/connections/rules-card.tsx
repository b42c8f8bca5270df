import type { Connection } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { DepartmentField } from '../members/department-field.tsx'
import { useDepartments, useRoles } from '../members/queries.ts'
import { RoleChoice } from '../members/role-choice.tsx'
import { changed } from '../parts/approvable.ts'
import { Badges, Button } from '../parts/button.tsx'
import { EditDialog } from '../parts/edit-dialog.tsx'
import { PlainField } from '../parts/field.tsx'
import { Table } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Card } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { useMay } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { isTried } from './connection-form.tsx'
import type { Opened } from './state.tsx'
import { texts } from './texts.ts'

const { rules: words } = texts
type Rule = Connection['mapping'][number]

const saveRules = (opened: Opened, mapping: readonly Rule[]) => {
  const path = { id: opened.body.id }
  return ifUnchanged('GET /connections/{id}/', path, opened, (unchanged) =>
    call('PATCH /connections/{id}/', { path, body: { mapping: [...mapping] }, ...unchanged }),
  )
}

/** What a connection gives people by their claims. */
export function RulesCard({ opened }: { opened: Opened }) {
  const { mapping } = opened.body
  const mayChange = useMay()('connection:update')
  const roles = useRoles().data?.results ?? []
  const departments = useDepartments().data?.results ?? []
  const [asked, setAsked] = useState<{ index: number; removed?: Rule } | null>(null)
  const close = () => setAsked(null)
  const nameOf = ({ claim, value }: Rule) => `${claim} ${words.is} ${value}`
  const remove = (index: number) =>
    changed('connections', () => saveRules(opened, mapping.toSpliced(index, 1)), words.removed)
  return (
    <Card
      title={words.title}
      about={words.about}
      actions={
        mayChange && (
          <Button icon="plus" onClick={() => setAsked({ index: mapping.length })}>
            {words.create}
          </Button>
        )
      }
    >
      {mapping.length > 0 && (
        <Table columns={words.columns}>
          {mapping.map((rule, index) => (
            <tr key={`${index} ${nameOf(rule)}`}>
              <td>
                <code>{rule.claim}</code> {words.is} <code>{rule.value}</code>
              </td>
              <td>
                <Badges of={rule.roles.map((id) => roles.find((one) => one.id === id)?.name ?? id)} />
              </td>
              <td className="muted">
                <bdi>
                  {departments.find(({ id }) => id === rule.department_id)?.name ?? rule.department_id}
                </bdi>
              </td>
              <td className="end">
                {mayChange && (
                  <Menu
                    trigger={<Button kind="quiet" icon="dots" aria-label={words.actionsOf(nameOf(rule))} />}
                  >
                    <MenuItem icon="badge" onClick={() => setAsked({ index })}>
                      {texts.edit}
                    </MenuItem>
                    <MenuItem icon="trash" danger onClick={() => setAsked({ index, removed: rule })}>
                      {words.remove}
                    </MenuItem>
                  </Menu>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {asked && !asked.removed && <RuleForm opened={opened} index={asked.index} onClose={close} />}
      {asked?.removed && (
        <Removal
          texts={
            isTried(opened.body) ? { ...words, removing: { ...words.removing, about: texts.returns } } : words
          }
          name={nameOf(asked.removed)}
          remove={() => remove(asked.index)}
          onClose={close}
        />
      )}
    </Card>
  )
}

/** Adds a rule, or changes the one at `index`. */
function RuleForm({ opened: now, index, onClose }: { opened: Opened; index: number; onClose: () => void }) {
  // The page can read the connection anew while the form is open.
  const [opened] = useState(now)
  const { mapping } = opened.body
  const known = mapping[index]
  const roles = useRoles().data?.results.filter(({ name }) => name !== 'owner')
  const save = (form: FormData) => {
    const department = form.get('department')
    const rule: Rule = {
      claim: textOf(form, `mapping.${index}.claim`),
      value: textOf(form, `mapping.${index}.value`),
      roles: form.getAll('roles').map(String),
      department_id: department === null ? (known?.department_id ?? null) : String(department) || null,
    }
    return saveRules(opened, mapping.toSpliced(index, 1, rule))
  }
  return (
    <EditDialog
      name="connections"
      done={words}
      {...{ words, known, save, onClose }}
      about={isTried(opened.body) && texts.returns}
    >
      <div className="columns">
        <PlainField
          label={words.claim}
          hint={words.claimHint}
          name={`mapping.${index}.claim`}
          maxLength={200}
          defaultValue={known?.claim}
          required
          autoFocus
        />
        <PlainField
          label={words.value}
          hint={words.valueHint}
          name={`mapping.${index}.value`}
          maxLength={500}
          defaultValue={known?.value}
          required
        />
      </div>
      {roles && (
        <RoleChoice
          label={words.roles}
          roles={roles}
          chosen={roles.filter(({ id }) => known?.roles.includes(id)).map(({ name }) => name)}
        />
      )}
      <DepartmentField {...(known && { known: known.department_id })} />
    </EditDialog>
  )
}

import { useQueryClient } from '@tanstack/react-query'
import type { ServiceAccount } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { useDepartments, useRoles } from '../members/queries.ts'
import { RoleChoice } from '../members/role-choice.tsx'
import { approvable } from '../parts/approvable.ts'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { SelectField, TextField } from '../parts/field.tsx'
import { Fault } from '../parts/notice.tsx'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { form: words } = texts

/** Makes a service account, or changes `known`. `onCreated` gets the new one. */
export function AccountForm({
  known,
  onClose,
  onCreated,
}: {
  known?: ServiceAccount
  onClose: () => void
  onCreated?: (account: ServiceAccount) => void
}) {
  const client = useQueryClient()
  const roles = useRoles().data?.results ?? []
  const departments = useDepartments().data?.results ?? []
  const submit = async (form: FormData) => {
    const body = {
      name: textOf(form, 'name'),
      description: textOf(form, 'description'),
      roles: form.getAll('roles').map(String),
      department_id: textOf(form, 'department') || null,
    }
    let created: ServiceAccount | null = null
    const save = async () => {
      if (known) await call('PATCH /service-accounts/{id}/', { path: { id: known.id }, body })
      else created = await call('POST /service-accounts/', { body })
    }
    await approvable(() => confirmed(save), known ? texts.changed : texts.created)
    await client.invalidateQueries({ queryKey: ['accounts'] })
    if (created) onCreated?.(created)
  }
  return (
    <FormDialog
      open
      onClose={onClose}
      title={known ? words.edit : words.create}
      go={known ? words.editGo : words.createGo}
      submit={submit}
    >
      {(problem) => {
        const [inName, inDescription] = [problem?.fields.get('name'), problem?.fields.get('description')]
        return (
          <>
            {problem && problem.fields.size > 0 && !inName && !inDescription && <Fault problem={problem} />}
            <TextField
              label={words.name}
              hint={words.nameHint}
              name="name"
              defaultValue={known?.name}
              maxLength={120}
              required
              autoFocus
              fault={inName}
            />
            <TextField
              label={words.description}
              name="description"
              defaultValue={known?.description}
              maxLength={2000}
              fault={inDescription}
            />
            <RoleChoice
              label={words.roles}
              roles={roles.filter(({ name }) => name !== 'owner')}
              chosen={known?.roles ?? ['member']}
            />
            {departments.length > 0 && (
              <SelectField
                label={words.department}
                name="department"
                defaultValue={known?.department_id ?? ''}
              >
                <option value="">{words.noDepartment}</option>
                {departments.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </SelectField>
            )}
          </>
        )
      }}
    </FormDialog>
  )
}

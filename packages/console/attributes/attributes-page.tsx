import type { AttributeDefinition } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Badge, Button } from '../parts/button.tsx'
import { ListPage } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Removal } from '../parts/removal.tsx'
import { choice } from '../parts/toolbar.tsx'
import { useMay } from '../session/session.ts'
import { DefineDialog } from './define-dialog.tsx'
import { texts } from './texts.ts'

export function AttributesPage() {
  const may = useMay()
  const [isDefining, setDefining] = useState(false)
  const [removing, setRemoving] = useState<AttributeDefinition | null>(null)
  const remove = async ({ id }: AttributeDefinition) => {
    const run = () => call('DELETE /attribute-definitions/{id}/', { path: { id } })
    await changed('attributes', run, texts.removed)
  }
  return (
    <ListPage
      {...texts}
      name="attributes"
      empty={{ icon: 'tag', ...texts.empty }}
      actions={
        may('attribute_definition:create') && (
          <Button kind="primary" icon="plus" onClick={() => setDefining(true)}>
            {texts.create}
          </Button>
        )
      }
      fields={[
        choice('category', texts.anyCategory, texts.categories),
        choice('data_type', texts.anyType, texts.types),
      ]}
      read={(filters, signal) =>
        call('GET /attribute-definitions/', { query: { page_size: 50, ...filters } as never, signal })
      }
      row={(one) => (
        <Row
          definition={one}
          onRemove={
            !one.is_system && !one.managed_by && may('attribute_definition:delete')
              ? () => setRemoving(one)
              : null
          }
        />
      )}
    >
      {isDefining && <DefineDialog onClose={() => setDefining(false)} />}
      {removing && (
        <Removal
          texts={texts}
          name={nameOf(removing)}
          remove={() => remove(removing)}
          onClose={() => setRemoving(null)}
        />
      )}
    </ListPage>
  )
}

const nameOf = ({ category, key }: AttributeDefinition) => `${category}.${key}`

function Row({ definition, onRemove }: { definition: AttributeDefinition; onRemove: (() => void) | null }) {
  const { key, data_type, display_name, description, allowed_values, is_system, is_required, managed_by } =
    definition
  const isNamed = display_name !== key && display_name !== key.replaceAll('_', ' ')
  return (
    <tr>
      <td>
        <span className="line">
          <code>{nameOf(definition)}</code>
          {is_system && <Badge>{texts.builtIn}</Badge>}
          {is_required && <Badge tone="accent">{texts.required}</Badge>}
          {managed_by && <Badge>{managed_by}</Badge>}
        </span>
      </td>
      <td className="muted">{texts.types[data_type]}</td>
      <td className="muted">
        <bdi>{[isNamed && display_name, description].filter(Boolean).join(': ')}</bdi>
        {allowed_values && (
          <bdi className="small block">{texts.values(allowed_values.map(String).join(', '))}</bdi>
        )}
      </td>
      <td className="end">
        {onRemove && (
          <Menu trigger={<Button kind="quiet" icon="dots" aria-label={texts.menu(nameOf(definition))} />}>
            <MenuItem icon="trash" danger onClick={onRemove}>
              {texts.remove}
            </MenuItem>
          </Menu>
        )}
      </td>
    </tr>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AttributeDefinition } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { approvable } from '../parts/approvable.ts'
import { Badge, Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { FilterSelect } from '../parts/filter-select.tsx'
import { useFilters } from '../parts/filters.ts'
import { List, Table } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { DefineDialog } from './define-dialog.tsx'
import { texts } from './texts.ts'

export function AttributesPage() {
  const { id: tenant } = useProfile().current_tenant
  const may = useMay()
  const client = useQueryClient()
  const [filters, change] = useFilters()
  const [isDefining, setDefining] = useState(false)
  const [removing, setRemoving] = useState<AttributeDefinition | null>(null)
  const query = useQuery({
    queryKey: ['attributes', tenant, filters],
    queryFn: ({ signal }) =>
      call('GET /attribute-definitions/', { query: { page_size: 50, ...filters } as never, signal }),
    placeholderData: (before) => before,
  })
  const reload = () => client.invalidateQueries({ queryKey: ['attributes'] })
  const remove = async ({ id }: AttributeDefinition) => {
    const run = () => call('DELETE /attribute-definitions/{id}/', { path: { id } })
    await approvable(() => confirmed(run), texts.removed)
    await reload()
  }
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        may('attribute_definition:create') && (
          <Button kind="primary" icon="plus" onClick={() => setDefining(true)}>
            {texts.create}
          </Button>
        )
      }
    >
      <div className="toolbar">
        <FilterSelect
          label={texts.anyCategory}
          value={filters.category}
          options={Object.entries(texts.categories)}
          onChange={(category) => change({ category })}
        />
        <FilterSelect
          label={texts.anyType}
          value={filters.data_type}
          options={Object.entries(texts.types)}
          onChange={(data_type) => change({ data_type })}
        />
      </div>
      <Card>
        <List
          query={query}
          change={change}
          empty={
            <Empty
              icon="tag"
              title={texts.empty.title}
              action={
                <Button onClick={() => change({ category: undefined, data_type: undefined })}>
                  {texts.empty.clear}
                </Button>
              }
            >
              {texts.empty.about}
            </Empty>
          }
        >
          {(definitions) => (
            <Table columns={texts.columns}>
              {definitions.map((one) => (
                <Row
                  key={one.id}
                  definition={one}
                  onRemove={
                    !one.is_system && !one.managed_by && may('attribute_definition:delete')
                      ? () => setRemoving(one)
                      : null
                  }
                />
              ))}
            </Table>
          )}
        </List>
      </Card>
      {isDefining && <DefineDialog onClose={() => setDefining(false)} onDefined={reload} />}
      {removing && (
        <FormDialog
          open
          danger
          onClose={() => setRemoving(null)}
          title={texts.removing.title(nameOf(removing))}
          about={texts.removing.about}
          go={texts.remove}
          submit={() => remove(removing)}
        />
      )}
    </Page>
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

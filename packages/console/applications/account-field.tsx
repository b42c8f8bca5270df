import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { readAll } from '../members/queries.ts'
import { SelectField } from '../parts/field.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { texts } from './texts.ts'

const { form: words } = texts

/** The service accounts of the organisation, for choices. */
export function useAccounts() {
  const { id } = useProfile().current_tenant
  return useQuery({
    queryKey: ['accounts', id, 'all'],
    queryFn: ({ signal }) =>
      readAll((cursor) =>
        call('GET /service-accounts/', { query: { page_size: 100, ordering: 'name', cursor }, signal }),
      ),
    enabled: useMay()('service_account:list'),
  })
}

/** The service account that a machine acts as. */
export function AccountField({ known }: { known: string | null | undefined }) {
  const { data } = useAccounts()
  return (
    <SelectField
      // Its choice is there with the list.
      key={String(data !== undefined)}
      label={words.account}
      hint={data?.results.length === 0 ? words.noAccount : words.accountHint}
      name="service_account_id"
      defaultValue={known ?? ''}
      required
    >
      <option value="">{words.chooseAccount}</option>
      {data?.results.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </SelectField>
  )
}

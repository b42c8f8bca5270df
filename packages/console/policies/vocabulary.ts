import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { actionNames, type DataType, serviceResources } from '../api/names.ts'
import { readAll, useDepartments, useRoles } from '../members/queries.ts'
import { useMay, useProfile } from '../session/session.ts'

export interface Attribute {
  name: string
  type: DataType
  allowed: readonly (string | number | boolean)[] | null
  about: string
}

/** What policies of the organisation can name. */
export interface Vocabulary {
  attributes: readonly Attribute[]
  actions: readonly string[]
  resourceTypes: readonly string[]
  roles: readonly string[]
  departments: readonly { id: string; name: string }[]
}

/** The attributes that policies can name, by name. */
export function useAttributes() {
  const { id } = useProfile().current_tenant
  return useQuery({
    queryKey: ['attributes', 'all', id],
    queryFn: ({ signal }) =>
      readAll((cursor) => call('GET /attribute-definitions/', { query: { page_size: 100, cursor }, signal })),
    enabled: useMay()('attribute_definition:list'),
  })
}

const useApplications = () =>
  useQuery({
    queryKey: ['applications'],
    queryFn: ({ signal }) => call('GET /applications/', { signal }),
    enabled: useMay()('attribute_definition:list'),
    staleTime: 60_000,
  }).data?.applications ?? []

export function useVocabulary(): Vocabulary {
  const attributes = useAttributes().data?.results ?? []
  const roles = useRoles().data?.results ?? []
  const departments = useDepartments().data?.results ?? []
  const types = useApplications().flatMap(({ resource_types }) => resource_types)
  const resourceTypes = [...serviceResources, ...types.map(({ type }) => type)]
  const ofApplications = types.flatMap(({ actions }) => actions.map(({ name }) => name))
  return {
    attributes: attributes
      .map(({ category, key, data_type: type, allowed_values: allowed, description }) => ({
        name: `${category}.${key}`,
        type,
        allowed,
        about: description,
      }))
      .sort((one, other) => one.name.localeCompare(other.name)),
    actions: [...actionNames, ...ofApplications, ...resourceTypes.map((type) => `${type}:*`), '*'],
    resourceTypes,
    roles: roles.map(({ name }) => name),
    departments,
  }
}

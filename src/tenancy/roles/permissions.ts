import { z } from 'zod'
import { actionNames, isPermission } from '../../policy-engine/catalogue/actions.ts'

const serviceResources = new Set(actionNames.map((name) => name.split(':')[0]))
const grantable = new Set<string>(actionNames.filter(isPermission))
const grantableResources = new Set([...grantable].map((name) => name.split(':')[0]))

/** Whether a permission is about something of the service; any other belongs to a tenant's applications. */
export const hasServiceResource = (permission: string): boolean =>
  serviceResources.has(permission.split(':')[0])

const form = /^[a-z][a-z0-9_.-]{0,62}:([a-z][a-z0-9_.-]{0,62}|\*)$/

/** What is wrong with a permission, as a sentence; null where nothing is. */
function faultOf(permission: string): string | null {
  if (!form.test(permission)) return 'A permission has the form resource:verb or resource:*, in lower case.'
  if (!hasServiceResource(permission)) return null
  const [resource, verb] = permission.split(':')
  const known = verb === '*' ? grantableResources.has(resource!) : grantable.has(permission)
  return known ? null : `The service has no permission ${permission}. The role owner lists them all.`
}

const permission = z.string('Name permissions as text.').superRefine((text, context) => {
  const fault = faultOf(text)
  if (fault) context.addIssue({ code: 'custom', message: fault, input: text })
})

/** The permissions of a custom role: of the service's catalogue, or an application's own; each once. */
export const permissionList = z
  .array(permission, 'Give permissions as a list of resource:verb.')
  .max(500, 'A role may have 500 permissions at most.')
  .transform((list) => [...new Set(list)])
  .meta({
    override: {
      type: 'array',
      items: { type: 'string', pattern: form.source },
      example: ['member:list', 'document:read', 'report:*'],
    },
  })

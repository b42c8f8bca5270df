import { z } from 'zod'
import { actionNames, isPermission, serviceResources } from '../../policy-engine/catalogue/actions.ts'
import { reservedName, reservedResources } from '../../policy-engine/catalogue/reserved-names.ts'

const grantable = new Set<string>(actionNames.filter(isPermission))
const grantableResources = new Set([...grantable].map((name) => name.split(':')[0]))

/** Whether a permission concerns a resource of this service. All others belong to the tenant's applications. */
export const hasServiceResource = (permission: string): boolean =>
  serviceResources.has(permission.split(':')[0]!)

/** The form of a permission. */
export const permissionForm = /^[a-z][a-z0-9_.-]{0,62}:([a-z][a-z0-9_.-]{0,62}|\*)$/

/** What is wrong with a permission, as a sentence, or null. */
function faultOf(permission: string): string | null {
  if (!permissionForm.test(permission))
    return 'A permission has the form resource:verb or resource:*, in lower case.'
  if (!hasServiceResource(permission)) return null
  const [resource = '', verb] = permission.split(':')
  if (reservedResources.includes(resource)) return reservedName(resource)
  const known = verb === '*' ? grantableResources.has(resource) : grantable.has(permission)
  return known ? null : `The service has no permission ${permission}. The role owner lists all permissions.`
}

/** One permission. */
export const permission = z.string('Name permissions as text.').superRefine((text, context) => {
  const fault = faultOf(text)
  if (fault) context.addIssue({ code: 'custom', message: fault, input: text })
})

/** The permissions of a custom role, without duplicates: from the service's catalogue, or of an application. */
export const permissionList = z
  .array(permission, 'Give permissions as a list of resource:verb.')
  .max(500, 'A role can have at most 500 permissions.')
  .transform((list) => [...new Set(list)])
  .meta({
    override: {
      type: 'array',
      items: { type: 'string', pattern: permissionForm.source },
      example: ['member:list', 'document:read', 'report:*'],
    },
  })

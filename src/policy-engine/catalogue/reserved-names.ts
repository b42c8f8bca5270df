/** Names that the resources of coming releases have. They have no actions yet, and applications cannot take them. */
export const reservedResources: readonly string[] = [
  'connection',
  'directory',
  'domain',
  'installation',
  'oauth_client',
  'oauth_grant',
  'oauth_resource',
  'scim',
  'support_access',
]

/** What to do about a name of {@link reservedResources}, as a sentence. */
export const reservedName = (resource: string): string =>
  `The name ${resource} is reserved for the service. Choose another one, such as app_${resource}.`

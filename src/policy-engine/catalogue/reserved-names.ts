/** Names that the resources of coming releases have. They have no actions yet, and applications cannot take them. */
export const reservedResources: readonly string[] = ['installation', 'support_access']

/** What to do about a name of {@link reservedResources}, as a sentence. */
export const reservedName = (resource: string): string =>
  `The name ${resource} is reserved for the service. Choose another one, such as app_${resource}.`

/** Resources that were free for applications until a migration: it waits until none of theirs has the name. */
export const takenBy: Readonly<Record<string, string>> = {
  connection: '0166-connections.sql',
  directory: '0179-directory-log.sql',
  domain: '0165-domains.sql',
  identity: '0167-federated-identities.sql',
  oauth: '0154-policies-decide-applications.sql',
  oauth_client: '0145-oauth-clients.sql',
  oauth_grant: '0147-ids-of-grants.sql',
  oauth_resource: '0149-oauth-resources.sql',
  scim: '0169-directory-users.sql',
}

/** All names that a release takes, or may have taken since the one before. */
export const takenNames: readonly string[] = [...reservedResources, ...Object.keys(takenBy)].sort()

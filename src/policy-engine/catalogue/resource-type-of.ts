/** The type of resource that an action is about. All actions but one begin with it: applications are what people authorize. */
export const resourceTypeOf = (action: string): string =>
  action === 'oauth:authorize' ? 'oauth_client' : (action.split(':')[0] ?? '')

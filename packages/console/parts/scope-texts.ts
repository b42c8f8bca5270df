/** What an application learns or may do by each scope of OpenID Connect. Other scopes are permissions. */
export const scopeTexts: Record<string, [name: string, about: string]> = {
  openid: ['Identity', 'Their id, and how they signed in.'],
  profile: ['Name', 'With their language and time zone.'],
  email: ['E-mail address', 'And whether it is verified.'],
  roles: ['Roles', 'By name.'],
  groups: ['Groups', 'Their roles or departments, in the form that many products read.'],
  organization: ['Organisation', 'Its id and name.'],
  offline_access: ['Stay signed in', 'Also after the person signed out here.'],
}

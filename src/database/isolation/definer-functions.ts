/**
 * Functions that run with the rights of their owner, who sees every tenant, and what they call: name and arguments,
 * settings, and the MD5 of the body, so that a changed body is a fault.
 */
export const definerFunctions = [
  // Takes no argument: it gives the memberships of the person in app.user_id.
  'public.own_memberships() {search_path=pg_catalog} 0a4f22279f8fb88da0f0de7801eb531f',
  // own_memberships() calls it: as schema/tenancy.sql makes it, and as `distribute` replaces it.
  'public.memberships_of(person uuid)  10dfc1d44d44917dfa718ff335825b21',
  'public.memberships_of(person uuid)  cdae414e5979430af9d5df10c80d8555',
]

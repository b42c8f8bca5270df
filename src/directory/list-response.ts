/** The most resources of a page. */
export const maxCount = 1_000

/** A page of resources (RFC 7644 §3.4.2). */
export const listResponse = (
  resources: readonly object[],
  { total = resources.length, startIndex = 1 }: { total?: number; startIndex?: number } = {},
) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})

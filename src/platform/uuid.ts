const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a text is a UUID in lower case (RFC 9562 §4), as all ids of the service are. */
export const isUuid = (text: string): boolean => form.test(text)

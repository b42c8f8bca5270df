const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** True for a UUID in lower case (RFC 9562 §4), the form of all ids of the service. */
export const isUuid = (text: string): boolean => form.test(text)

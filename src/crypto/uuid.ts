const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** True for a UUID in lower case (RFC 9562 §4), the form of all ids of the service. */
export const isUuid = (text: string): boolean => form.test(text)

/** The nil UUID (RFC 9562 §5.9): the service itself, where a column needs an id. */
export const nilUuid = '00000000-0000-0000-0000-000000000000'

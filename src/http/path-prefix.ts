/** The path of a URL of the service, without a last slash: what stands before its own paths where a proxy adds a folder. */
export const pathPrefix = (url: string): string => new URL(url).pathname.replace(/\/$/, '')

import * as oidc from 'openid-client'
import type { SignInOptions } from './sign-in.ts'

const isLoopback = ({ hostname }: URL) => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)

/** The origin of an application, by which its cookies and its redirect URI are known. */
export function checkedBase(baseUrl: string) {
  if (!URL.canParse(baseUrl)) throw new TypeError('baseUrl is no address such as https://shop.example.com.')
  const url = new URL(baseUrl)
  if (url.pathname !== '/' || url.search)
    throw new TypeError('baseUrl has no path: put that into `path`, such as /shop/auth.')
  const isSecure = url.protocol === 'https:'
  if (!isSecure && !isLoopback(url)) throw new TypeError('baseUrl needs https, except on 127.0.0.1.')
  return { origin: url.origin, isSecure }
}

/** What the service says of itself. Throws if its issuer is another. */
export async function discover({
  issuer,
  clientId,
  clientSecret,
}: SignInOptions): Promise<oidc.Configuration> {
  const url = new URL(issuer)
  const authentication = clientSecret ? oidc.ClientSecretBasic(clientSecret) : oidc.None()
  return oidc.discovery(url, clientId, undefined, authentication, {
    timeout: 5,
    ...(isLoopback(url) && { execute: [oidc.allowInsecureRequests] }),
  })
}

/** Keeps what succeeded; a failure is tried again. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
}

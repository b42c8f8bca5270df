import { isIP } from 'node:net'
import { z } from 'zod'

/** A setting: how its text is read, its default, and its description in docs/reference/settings.md. */
export interface Setting<T> {
  read: (text: string) => T
  fallback: T
  about: string
  shown?: string
  secret?: boolean
}

/** Why a text was refused. The message follows the name of the setting. */
export class SettingError extends Error {}

const fail = (wanted: string): never => {
  throw new SettingError(wanted)
}

const words: Record<string, boolean> = { true: true, false: false, 1: true, 0: false, yes: true, no: false }
// Each form reads a text, or throws a SettingError.
export const boolean = (text: string) => words[text.toLowerCase()] ?? fail('must be true or false')
export const wholeNumber = (least: number, most: number) => (text: string) =>
  /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most
    ? Number(text)
    : fail(`must be a whole number from ${least} to ${most}`)
export const seconds = wholeNumber(1, 366 * 86_400)
export const days = wholeNumber(1, 36_500)
export const port = wholeNumber(0, 65_535)
export const count = wholeNumber(1, 1_000_000)
export const text = (value: string) => value
export const fraction = (value: string) =>
  /^(0?\.\d+|[01](\.0*)?)$/.test(value) ? Number(value) : fail('must be a number from 0 to 1')
export const list = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
export const oneOf =
  <const T extends string>(...names: T[]) =>
  (value: string): T =>
    names.find((name) => name === value) ?? fail(`must be one of ${names.join(', ')}`)
export const url =
  (...protocols: string[]) =>
  (value: string) =>
    URL.canParse(value) && protocols.includes(new URL(value).protocol)
      ? value.replace(/\/$/, '')
      : fail(`must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`)
export const http = url('http:', 'https:')
/** An address to which paths are added. */
export const base = (value: string) => (/[?#]/.test(value) ? fail('must end before the ? or #') : http(value))
/** A host name in lower case: browsers refuse passkeys for IP addresses. */
export const domainName = (value: string) =>
  /^(?!\d+(\.\d+)*$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(value)
    ? value
    : fail('must be a domain such as example.com, without scheme and port, and no IP address')
/** Host names, each with `*.` before it for its subdomains. */
export const hostList = (value: string) =>
  list(value.toLowerCase()).map((host) => {
    domainName(host.replace(/^\*\./, ''))
    return host
  })
/** IP addresses, each with a port after it or without, IPv6 with a port in brackets. */
export const serverList = (value: string) =>
  list(value).map((server) => {
    const [, address = server] = /^\[?(.+?)\]?:\d{1,5}$/.exec(isIP(server) ? '' : server) ?? []
    return isIP(address) ? server : fail(`must hold IP addresses such as 192.0.2.53:53: ${server} is none`)
  })
/** Origins of pages (`https://app.example.com`) and of Android apps (`android:apk-key-hash:…`). */
export const originList = (value: string) => {
  const origins = list(value)
  const wrong = origins.find((text) => !/^android:apk-key-hash:[\w-]{43}$/.test(text) && !isWebOrigin(text))
  if (wrong !== undefined) fail(`must hold origins such as https://app.example.com: ${wrong} is none`)
  return origins.length > 0 ? origins : fail('must hold one origin or more')
}
const isWebOrigin = (text: string) =>
  URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text
const checkedModes = ['require', 'verify-ca', 'verify-full']

/**
 * The address of a Postgres. Every mode that asks for TLS becomes `sslmode=verify-full`, so the certificate and its
 * host name are always checked and all drivers agree.
 */
export const databaseUrl = (value: string) => {
  const address = url('postgres:', 'postgresql:')(value)
  const { searchParams: parameters } = new URL(address)
  const mode = parameters.get('sslmode')
  if (parameters.has('ssl') || parameters.has('uselibpqcompat') || parameters.has('host'))
    fail(
      'must not contain ssl, uselibpqcompat or host: use sslmode=verify-full, and put the host before the slash',
    )
  if (mode !== null && ![...checkedModes, 'no-verify', 'disable'].includes(mode))
    fail('must have sslmode=verify-full, no-verify or disable')
  return mode && checkedModes.includes(mode)
    ? address.replace(/sslmode=[\w-]+/, 'sslmode=verify-full')
    : address
}
export const linkTemplate = (part: string) => (value: string) =>
  value.includes(part) && URL.canParse(value.replaceAll(/[{}]/g, ''))
    ? value
    : fail(`must be a URL that contains ${part}`)
export const sealingKeys = (value: string) => {
  const keys = list(value).map((key) => Buffer.from(key, 'base64url'))
  const wrong = keys.findIndex((key) => key.length !== 32)
  if (wrong >= 0)
    fail(
      `must hold keys of 32 bytes in base64url, separated by commas: key ${wrong + 1} has ${keys[wrong]?.length} bytes. Make one: node -p "crypto.randomBytes(32).toString('base64url')"`,
    )
  return keys.length > 0
    ? keys
    : fail('must be one or more base64url strings of 32 bytes, separated by commas')
}
export const emailAddress = (value: string) =>
  z.email().safeParse(/<([^<>]+)>$/.exec(value)?.[1] ?? value).success
    ? value
    : fail('must be an e-mail address')

/** Makes a {@link Setting}. */
export const setting = <T, F extends T | undefined>(
  read: (text: string) => T,
  fallback: F,
  about: string,
  more: { shown?: string; secret?: boolean } = {},
): Setting<T | F> => ({ read, fallback, about, ...more })

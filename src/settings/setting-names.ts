import { lettersBetween, misspelt, nearestName } from '../policy-engine/nearest-name.ts'
import { settings } from './settings.ts'

const ourNames = [
  'OTP',
  'JWT',
  'DATABASE',
  'EMAIL_LINK',
  'EMAIL_VERIFICATION',
  'RATE_LIMIT',
  'LIMIT',
  'MAGIC_LINK',
  'MANAGEMENT',
  'ACCESS_TOKEN',
  'REFRESH_TOKEN',
  'PASSKEYS?',
  'PASSWORD_RESET',
  'PASSWORD_BLOCKED',
  'INVITATION',
  'REGISTRATION',
  'SMTP',
  'SECRET_KEYS',
  '(DECISION|EVENT|AUDIT|MAIL|DEAD_LETTER|SIGN_IN_PLACE|APPROVAL_BODY)_RETENTION',
  'WEBHOOK',
  'TRUSTED_PROX(Y|IES)',
  'QUEUE_BOARD',
  'REDIS_REQUIRE',
  'SHUTDOWN',
  'TLS_(CERTIFICATE|PRIVATE_KEY)',
  'CONSOLE',
  'POLICIES',
]
const ourPrefixes = new RegExp(`^(${ourNames.join('|')})(?=_|$)`)

const known = Object.keys(settings)
// Machines set other variables that look like short names, such as HOST.
const longNames = known.filter((name) => name.length >= 5)
const ofOthers = new Set(['SFTP_URL'])
/** Kubernetes sets these for each Service of the namespace: one can be called smtp or console. */
const isServiceLink = (name: string, value: string | undefined) =>
  /_SERVICE_(HOST$|PORT(_|$))|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(name) ||
  (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value ?? ''))

/**
 * A sentence for each variable that is no setting, but begins like one or misspells one. It would have no effect.
 */
export function unknownSettings(env: Record<string, string | undefined>): string[] {
  return Object.entries(env).flatMap(([variable, value]) => {
    const name = variable.replace(/_FILE$/, '')
    if (name in settings || ofOthers.has(name) || isServiceLink(name, value)) return []
    const [prefix] = ourPrefixes.exec(name) ?? []
    const meant = prefix ? nearestName(name, known) : misspeltSetting(name)
    if (prefix === undefined && meant === null) return []
    const hint = meant === null ? `Known are ${alike(prefix)}.` : `Did you mean ${meant}?`
    return [`${variable} is not a setting of this service: check its spelling. ${hint}`]
  })
}

/** Of a short name, only one letter differs, or letters are swapped: AMQP_URL is two letters from SMTP_URL. */
function misspeltSetting(name: string): string | null {
  const meant = misspelt(name, longNames)
  const given = name.toUpperCase()
  const isNear = (setting: string) =>
    setting.length > 10 || lettersBetween(given, setting, 1) <= 1 || lettersOf(given) === lettersOf(setting)
  return meant !== null && isNear(meant) ? meant : null
}

const lettersOf = (name: string) => [...name].toSorted().join('')
const alike = (prefix = '') => known.filter((name) => name.startsWith(prefix)).join(', ')

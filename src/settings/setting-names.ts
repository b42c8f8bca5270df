import { lettersBetween, misspelt, nearestName } from '../text/nearest-name.ts'
import { settings } from './settings.ts'

const known = Object.keys(settings)
// Variables of other programs begin with these words, too: only the next word shows that a setting of ours is meant.
const shared =
  /^(ACCESS|APPROVAL|AUDIT|CORS|DATA|DEAD|DECISION|DELETED|EMAIL|EVENT|LOG|MAGIC|MAIL|NODE|OPA|PASSWORD|PUBLIC|RATE|REDIS|REFRESH|REQUIRE|SECRET|SIGN|TLS|TRACING)$/
/** How our settings begin: by a word, or by two. */
const beginnings = new Set(
  known
    .filter((name) => !name.startsWith('OTEL_'))
    .map((name) => name.split('_'))
    .map(([first = '', second, third]) =>
      shared.test(first) ? third && `${first}_${second}` : second && first,
    ),
)
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
    const [first, second] = name.split('_')
    const prefix = [first, `${first}_${second}`].find((words) => beginnings.has(words))
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

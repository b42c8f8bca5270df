import { chooseLanguage } from '../../languages/choose-language.ts'
import { formatMoment } from '../../languages/format.ts'
import type { Config } from '../../settings/config.ts'
import { type Brand, serviceAccent } from './brand.ts'
import type { Stationery } from './letter.ts'

/** What is known of a reader: null or undefined is not known. */
export interface Recipient {
  /** BCP 47 */
  locale?: string | null
  /** IANA time zone */
  zoneinfo?: string | null
  /** The `Accept-Language` of the request that caused the mail. */
  languages?: string | undefined
}

/**
 * The language, the time zone and the brand of a mail. Without hints it is in the language of the settings, with times in UTC, and in
 * the name of the service.
 */
export function stationeryFor(
  {
    OTP_TOTP_ISSUER_NAME: service,
    DEFAULT_LANGUAGE: fallback,
  }: Pick<Config, 'OTP_TOTP_ISSUER_NAME' | 'DEFAULT_LANGUAGE'>,
  { locale, zoneinfo, languages }: Recipient = {},
  brand: Brand | null = null,
): Stationery {
  const texts = chooseLanguage(locale, languages, fallback)
  const own = locale ? new Intl.Locale(locale) : null
  // The locale of another language would not fit the texts; one without a region does not say the form of dates.
  const format = own?.region && own.language === texts.code ? own.toString() : texts.format
  return {
    texts,
    service,
    moment: (at) => formatMoment(at, format, zoneinfo ?? undefined),
    brand: brand ?? { name: service, logo: null, accent: serviceAccent, links: [] },
  }
}

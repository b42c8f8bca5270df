import { invalidField } from '../../errors.ts'

// A domain of many organisations is no tenant's. Only who runs it could add the record, and who runs a provider of mailboxes does not
// speak for the people who have them.

const mailboxes = new Set(
  `aol.com fastmail.com free.fr gmail.com gmx.at gmx.ch gmx.com gmx.de gmx.net googlemail.com hey.com hotmail.com hotmail.de
  icloud.com laposte.net libero.it live.com mac.com mail.com mail.ru me.com msn.com naver.com orange.fr outlook.com outlook.de
  posteo.de proton.me protonmail.com qq.com rediffmail.com t-online.de tuta.com tutanota.com web.de yahoo.co.jp yahoo.co.uk
  yahoo.com yahoo.de yahoo.fr yandex.com yandex.ru ymail.com zoho.com 126.com 163.com`.split(/\s+/),
)

/**
 * Throws 400 on `domain` for a public suffix, such as `com`, `co.uk` or `github.io` (publicsuffix.org), and for a provider of
 * mailboxes, such as `gmail.com`.
 */
export async function assertClaimable(domain: string): Promise<void> {
  const { getPublicSuffix } = await import('tldts')
  if (getPublicSuffix(domain, { allowPrivateDomains: true }) === domain)
    throw invalidField(
      'domain',
      'Anybody can register a domain below this one. Give that of your organisation.',
    )
  if (mailboxes.has(domain))
    throw invalidField(
      'domain',
      'Anybody can have an address of this domain. Give that of your organisation.',
    )
}

import type { Tenant } from '@bailiwick/client'
import { useState } from 'react'
import { prefix } from '../api/client.ts'
import { Segments } from '../parts/segments.tsx'
import { texts } from './texts.ts'

const { preview: words } = texts.branding

/** What is typed; null and absent are nothing. */
export type Draft = {
  [Member in Exclude<keyof Tenant['settings']['branding'], 'logo'>]?: string | null | undefined
}

/** The address of a logo at the origin of this page, also where PUBLIC_URL has another. */
export const localLogo = (logo: string) => new URL(logo, location.href).pathname

interface Brand {
  name: string
  logo: string | null
  links: string[]
}

/** A page and a mail as the organisation's people see them. The colours are those of the service: it derives that of the dark. */
export function BrandPreview({
  draft,
  logo,
  tenantName,
  hasMail = true,
}: {
  draft: Draft
  logo: string | null
  tenantName: string
  /** Also a mail. */
  hasMail?: boolean
}) {
  const [theme, setTheme] = useState<'light' | 'dark'>('light')
  const accent = /^#[0-9a-f]{6}$/i.test(draft.accent ?? '') ? draft.accent!.slice(1).toLowerCase() : null
  const links = (['terms_url', 'privacy_url', 'support_email'] as const).filter((member) => draft[member])
  const brand: Brand = {
    name: draft.name || tenantName,
    logo: logo && localLogo(logo),
    links: links.map((member) => words.links[member]),
  }
  return (
    <div className="brand-preview" data-theme={theme}>
      {accent && <link rel="stylesheet" href={`${prefix}/sign-in/look/accent/${accent}.css`} />}
      <div className="brand-preview-head">
        <h3>{words.title}</h3>
        <Segments label={words.theme} options={words.themes} value={theme} onChange={setTheme} />
      </div>
      <div className="brand-preview-both">
        <figure>
          <div className="brand-page" aria-hidden="true">
            <div className="brand-card">
              <Head {...brand} />
              <p className="brand-title">{words.page.title}</p>
              <p className="brand-quiet">{words.page.lead}</p>
              <p className="brand-label">{words.page.email}</p>
              <p className="brand-input" />
              <p className="brand-button">{words.page.go}</p>
              <Links {...brand} />
            </div>
          </div>
          <figcaption>{words.page.caption}</figcaption>
        </figure>
        {hasMail && (
          <figure>
            <div className="brand-mail" aria-hidden="true">
              <Head {...brand} />
              <div className="brand-card">
                <p className="brand-title">{words.mail.title}</p>
                <p>{words.mail.lead(tenantName)}</p>
                <p className="brand-button">{words.mail.go}</p>
              </div>
              <Links {...brand} />
            </div>
            <figcaption>{words.mail.caption}</figcaption>
          </figure>
        )}
      </div>
    </div>
  )
}

const Head = ({ name, logo }: Brand) =>
  logo ? (
    <img className="brand-image" src={logo} alt="" />
  ) : (
    <p className="brand-head">
      <span className="brand-initial">{[...name][0]?.toUpperCase()}</span>
      <bdi>{name}</bdi>
    </p>
  )

const Links = ({ links }: Brand) => links.length > 0 && <p className="brand-links">{links.join(' · ')}</p>

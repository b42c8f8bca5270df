import type { Texts } from '../../languages/en.ts'
import { type Brand, serviceAccent, shownSize } from '../../messages/mail/brand.ts'
import { type Html, html } from '../../text/html.ts'
import { accentPath } from './look-files.ts'
import type { Visit } from './visit.ts'

/** What the pages load, by address below the service. */
export interface Look {
  style: string
  script: string
  /** The brand of the pages; null for that of the service. */
  brandOf(visit: Visit): Promise<Brand | null>
}

/**
 * No file of another origin, no inline code, no frame. `same-origin`: with `no-referrer` browsers would send `Origin: null`
 * with the forms (Fetch, "append a request Origin header").
 */
export const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

const mark = html`<svg class="mark" viewBox="-9 -9 40 40" fill="currentColor" aria-hidden="true"><path d="M2.5 19v-8A8.5 8.5 0 0 1 7.9 3.1l1.9 4.4A3.7 3.7 0 0 0 7.3 11v8H2.5Zm12.2 0v-8a3.7 3.7 0 0 0-2.5-3.5l1.9-4.4a8.5 8.5 0 0 1 5.4 7.9v8h-4.8Z"/><path d="M9.3 1.2h3.4l-1 5.1h-1.4l-1-5.1Z"/></svg>`

/** The logo of a tenant, or its name beside an initial. */
function head({ name, logo }: Brand): Html {
  if (logo) {
    const { width, height } = shownSize(logo, { width: 240, height: 48 })
    return html`<img class="logo" src="${logo.url}" alt="${name}" width="${String(width)}" height="${String(height)}">`
  }
  const [initial = ''] = name.toUpperCase()
  return html`<p class="brand"><span class="mark" aria-hidden="true">${initial}</span> ${name}</p>`
}

const footer = ({ links }: Brand, texts: Texts['pages']['brand']): Html | null =>
  links.length === 0
    ? null
    : html`<footer>${links.map(({ to, url }) => html`<a href="${url}" target="_blank" rel="noopener noreferrer">${texts[to]}</a> `)}</footer>`

/** A page as a document. `refresh`: the address that it leads to by itself. */
export const documentOf = (
  { style, script }: Look,
  { language, prefix, texts }: Visit,
  brand: Brand | null,
  { title, content, refresh }: { title: string; content: Html; refresh?: string },
): Html => html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${refresh ? html`<meta http-equiv="refresh" content="0;url=${refresh}">\n` : null}<title>${brand ? `${title} – ${brand.name}` : title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${prefix}${style}">
${brand && brand.accent !== serviceAccent ? html`<link rel="stylesheet" href="${prefix}${accentPath(brand.accent)}">\n` : null}<script src="${prefix}${script}" defer></script>
</head>
<body>
<main>
${brand ? head(brand) : mark}
<h1>${title}</h1>
${content}
${brand && footer(brand, texts.brand)}</main>
</body>
</html>
`

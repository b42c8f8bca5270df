import { type Html, html } from '../../text/html.ts'
import { accentInDark, type Brand, shownSize } from './brand.ts'
import type { Part, Stationery } from './letter.ts'

// What mail clients keep: tables, inline styles, one style element, for dark mode and narrow windows. No class
// carries what a client without style elements would miss.
const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
const mono = "font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"
const ink = { class: 'ink', style: `${font};font-size:16px;line-height:1.55;color:#152025` }
const quiet = { class: 'quiet', style: `${font};font-size:14px;line-height:1.55;color:#515f63` }
const small = `${font};font-size:13px;line-height:1.5;color:#515f63`
type Tone = typeof ink

const stylesFor = (accent: string) => `
:root { color-scheme: light dark; supported-color-schemes: light dark }
@media (max-width: 480px) {
  .outer { padding: 0 !important }
  .card { padding: 28px 20px 12px !important; border-width: 1px 0 !important; border-radius: 0 !important }
  .head { padding: 20px !important }
  .foot { padding: 16px 20px 24px !important }
}
@media (prefers-color-scheme: dark) {
  .ground { background: #0a0f11 !important }
  .card { background: #12181b !important; border-color: #242c2f !important }
  .ink { color: #e8eeef !important }
  .quiet { color: #a1abae !important }
  .sunken { background: #0a0f11 !important; border-color: #242c2f !important }
  .line { border-color: #242c2f !important }
  .second { border-color: #4b5659 !important }
  .button { background: ${accentInDark(accent)} !important; color: #06171a !important }
  .logo { padding: 6px 10px !important; background: #ffffff !important; border-radius: 8px !important }
}
`

/** Keeps the text of the mail out of what clients show after the preview. */
const filler = '\u034f\u200c\u00a0'.repeat(90)

interface Shown {
  subject: string
  /** What mail clients show beside the subject. */
  preview: string
  parts: readonly Part[]
  /** What only another reader than the one who caused the mail needs: below a rule, quieter. */
  aside: readonly Part[]
}

/** The HTML of a mail, below 30 kB. It loads nothing except the logo. */
export const page = (
  stationery: Stationery,
  { subject, preview, parts, aside }: Shown,
): Html => html`<!doctype html>
<html lang="${stationery.texts.code}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">
<title>${subject}</title>
<style>${stylesFor(stationery.brand.accent)}</style>
</head>
<body class="ground" style="margin:0;padding:0;background:#f0f5f5">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${preview.charAt(0).toUpperCase()}${preview.slice(1)}${filler}</div>
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f0f5f5">
<tr><td class="outer" align="center" style="padding:24px 12px">
<!--[if mso]><table role="presentation" width="560" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px">
<tr><td class="head" style="padding:8px 4px 20px">${head(stationery.brand)}</td></tr>
<tr><td class="card" style="padding:36px 40px 20px;background:#ffffff;border:1px solid #dfe4e4;border-radius:12px">
<h1 class="ink" style="margin:0 0 20px;${ink.style};font-size:22px;line-height:1.3;font-weight:600;letter-spacing:-.01em">${subject}</h1>
${parts.map((part) => shown(part, stationery, ink))}${aside.length > 0 ? rule : ''}${aside.map((part) => shown(part, stationery, quiet))}</td></tr>
<tr><td class="foot quiet" style="padding:20px 4px 8px;${small}">${stationery.texts.mails.frame.signed(stationery.service)}${more(stationery)}</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr>
</table>
</body>
</html>
`

/** Fixed in both directions: a client can show the mail before the image, or without it. */
function head({ name, logo, accent }: Brand): Html {
  if (logo) {
    const { width, height } = shownSize(logo, { width: 240, height: 40 })
    return html`<img class="logo ink" src="${logo.url}" alt="${name}" width="${String(width)}" height="${String(height)}" style="display:block;width:${String(width)}px;height:${String(height)}px;border:0;${ink.style};font-weight:600">`
  }
  const [initial = ''] = name.toUpperCase()
  return html`<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr>
<td width="28" height="28" align="center" style="${font};font-size:15px;font-weight:700;line-height:28px;color:#ffffff;background:${accent};border-radius:7px" class="button" aria-hidden="true">${initial}</td>
<td class="ink" style="padding-left:10px;${ink.style};font-weight:600">${name}</td>
</tr></table>`
}

const more = ({ brand: { links }, texts }: Stationery): Html | null =>
  links.length === 0
    ? null
    : html`<br>${links.map(({ to, url }, n) => html`${n > 0 ? ' · ' : ''}<a href="${url}" class="quiet" style="color:#515f63">${texts.pages.brand[to]}</a>`)}`

const rule = html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td class="line" style="padding-top:20px;border-bottom:1px solid #dfe4e4;font-size:0;line-height:0">&nbsp;</td></tr><tr><td height="20" style="font-size:0;line-height:0">&nbsp;</td></tr></table>
`

function shown(part: Part, stationery: Stationery, tone: Tone): Html {
  switch (part.kind) {
    case 'paragraph':
      return html`<p class="${tone.class}" style="margin:0 0 16px;${tone.style}">${part.words}</p>
`
    case 'code':
      return html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:4px 0 20px"><tr><td class="ink sunken" style="padding:14px 16px 14px 24px;background:#f4f8f8;border:1px solid #dfe4e4;border-radius:10px;${mono};font-size:30px;line-height:1.2;font-weight:600;letter-spacing:.25em;color:#152025">
${part.words}
</td></tr></table>
`
    case 'quote':
      return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 20px"><tr><td class="line" style="padding:2px 0 2px 16px;border-left:3px solid #dfe4e4">
<p class="quiet" style="margin:0 0 2px;${small}">${part.of}</p>
<p class="ink" style="margin:0;${ink.style}">${part.words}</p>
</td></tr></table>
`
    case 'facts':
      return html`<table width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:4px 0 20px">${part.facts.map(fact)}</table>
`
    case 'button':
      return html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 16px"><tr><td class="button" style="background:${stationery.brand.accent};border-radius:8px"><a href="${part.link}" class="button" style="display:inline-block;padding:12px 22px;border-radius:8px;${font};font-size:16px;line-height:1.25;font-weight:600;color:#ffffff;text-decoration:none">${part.words}</a></td></tr></table>
${plainLink(part.link, stationery)}`
    case 'undo':
      return html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 12px"><tr><td class="second" style="border:1px solid #a9b4b7;border-radius:8px"><a href="${part.link}" class="ink" style="display:inline-block;padding:8px 16px;${font};font-size:14px;line-height:1.4;font-weight:600;color:#152025;text-decoration:none">${part.words}</a></td></tr></table>
${plainLink(part.link, stationery)}`
  }
}

const fact = ([name, value]: readonly [string, string]) => html`
<tr><th class="quiet line" align="left" valign="top" width="30%" style="padding:9px 12px 9px 0;border-bottom:1px solid #dfe4e4;${quiet.style};font-weight:400">${name}</th><td class="ink line" valign="top" style="padding:9px 0;border-bottom:1px solid #dfe4e4;${ink.style};font-size:14px;overflow-wrap:anywhere;word-break:break-word">${value}</td></tr>`

const plainLink = (
  link: string,
  { texts }: Stationery,
) => html`<p class="quiet" style="margin:0 0 20px;${small}">${texts.mails.frame.plainLink}<br>
<a href="${link}" class="quiet" style="color:#515f63;word-break:break-all">
${link}
</a></p>
`

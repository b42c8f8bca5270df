const browsers = [
  ['Edge', /Edg\//],
  ['Opera', /OPR\//],
  ['Firefox', /Firefox\//],
  ['Chrome', /Chrome\//],
  ['Safari', /Safari\//],
] as const

const systems = [
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Android', /Android/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const

/** A browser's name as people say it: “Firefox on Windows”. Programs keep the name that they sent. */
export function deviceName(userAgent: string): { name: string; mobile: boolean } | null {
  const browser = browsers.find(([, form]) => form.test(userAgent))?.[0]
  const system = systems.find(([, form]) => form.test(userAgent))?.[0]
  const mobile = /iPhone|iPad|Android/.test(userAgent)
  if (browser) return { name: system ? `${browser} on ${system}` : browser, mobile }
  const program = userAgent.split('/')[0]?.trim()
  return program ? { name: program, mobile: false } : null
}

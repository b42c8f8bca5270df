import { existsSync } from 'node:fs'

/** Chromium or Chrome as the system's packages install it; undefined if there is none. */
export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
)

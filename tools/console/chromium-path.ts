import { existsSync } from 'node:fs'

/**
 * Chromium or Chrome as the system's packages install it; undefined if there is none. First the one without windows, which
 * takes two thirds of the processor time.
 */
export const chromiumPath = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync)

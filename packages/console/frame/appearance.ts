import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'
export type Density = 'comfortable' | 'compact'

interface Appearance {
  theme: Theme
  density: Density
}

const key = 'bailiwick-appearance'
const dark = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

function stored(): Appearance {
  try {
    return { theme: 'system', density: 'comfortable', ...JSON.parse(localStorage.getItem(key) ?? '{}') }
  } catch {
    return { theme: 'system', density: 'comfortable' }
  }
}

let appearance = stored()

function apply(): void {
  const { theme, density } = appearance
  const root = document.documentElement
  root.dataset.theme = theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme
  root.dataset.density = density
}

/** Applies what this browser chose, and follows the system. Call it before the first screen. */
export function followAppearance(): void {
  apply()
  dark.addEventListener('change', apply)
}

export function setAppearance(change: Partial<Appearance>): void {
  appearance = { ...appearance, ...change }
  localStorage.setItem(key, JSON.stringify(appearance))
  apply()
  for (const listener of listeners) listener()
}

export const useAppearance = (): Appearance =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => appearance,
  )

const channelsOf = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))

/** Relative luminance (WCAG 2.2). */
function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(colour).map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The contrast of two colours, from 1 to 21 (WCAG 2.2, SC 1.4.3). Colours are `#rrggbb`. */
export function contrastOf(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

/** The nearest colour of the same hue and saturation that is as much lighter or darker as a contrast of `min` against `ground` takes. */
export function withContrast(
  colour: string,
  { ground, min, become }: { ground: string; min: number; become: 'lighter' | 'darker' },
): string {
  const channels = channelsOf(colour).map((value) => value / 255)
  const lightness = (Math.max(...channels) + Math.min(...channels)) / 2
  const spread = 1 - Math.abs(2 * lightness - 1)
  for (let percent = 0; ; percent++) {
    const to =
      become === 'lighter'
        ? lightness + ((1 - lightness) * percent) / 100
        : (lightness * (100 - percent)) / 100
    const stretch = spread === 0 ? 0 : (1 - Math.abs(2 * to - 1)) / spread
    const bytes = channels.map((value) => Math.round(255 * (to + (value - lightness) * stretch)))
    const hex = `#${bytes.map((value) => value.toString(16).padStart(2, '0')).join('')}`
    if (percent === 100 || contrastOf(hex, ground) >= min) return hex
  }
}

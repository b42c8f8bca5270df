import { crc32, deflateSync } from 'node:zlib'

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

/**
 * A PNG of one colour, or of what `pixel` gives (RGBA). `bytes` makes it exactly so long, by a text; `more` are further chunks.
 */
export function pngOf(
  width: number,
  height: number,
  {
    pixel = () => [29, 78, 216, 255],
    bytes,
    more = [],
  }: {
    pixel?: (x: number, y: number) => number[]
    bytes?: number
    more?: [name: string, data: Buffer][]
  } = {},
): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  header.set([8, 6, 0, 0, 0], 8)
  const lines = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (_, x) => pixel(x, y)).flat(),
  ])
  const start = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header)])
  const rest = Buffer.concat([
    ...more.map(([name, data]) => chunk(name, data)),
    chunk('IDAT', deflateSync(Buffer.from(lines.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ])
  const missing = bytes === undefined ? 0 : bytes - start.length - rest.length
  return Buffer.concat([
    start,
    ...(missing > 0 ? [chunk('tEXt', Buffer.alloc(missing - 12, 'x'))] : []),
    rest,
  ])
}

/** The beginning of a WebP file with one chunk, which says its size. */
export function webpOf(kind: 'VP8 ' | 'VP8L' | 'VP8X', { animated = false } = {}): Buffer {
  const data = {
    'VP8 ': Buffer.from([0, 0, 0, 0x9d, 0x01, 0x2a, 120, 0, 40, 0]),
    VP8L: Buffer.from([0x2f, 119, (39 << 6) & 0xff, 39 >> 2, 0, 0, 0, 0, 0, 0]),
    VP8X: Buffer.from([animated ? 2 : 0, 0, 0, 0, 119, 0, 0, 39, 0, 0]),
  }[kind]
  const file = Buffer.concat([Buffer.from(`RIFF____WEBP${kind}____`, 'latin1'), data])
  file.writeUInt32LE(file.length - 8, 4)
  file.writeUInt32LE(data.length, 16)
  return file
}

/** The media types of a logo. No SVG: it is a document that can run scripts and load files. */
export const imageTypes = ['image/png', 'image/webp'] as const
export type ImageType = (typeof imageTypes)[number]

export interface ImageSize {
  width: number
  height: number
}

/** The size of a still image that is whole and what its media type says; null for anything else. */
export const sizeOfImage = (type: ImageType, bytes: Buffer): ImageSize | null =>
  (type === 'image/png' ? sizeOfPng : sizeOfWebp)(bytes)

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** PNG, third edition, §5: the header is the first chunk, `IEND` the last, and nothing follows. `acTL` animates. */
function sizeOfPng(bytes: Buffer): ImageSize | null {
  if (!bytes.subarray(0, 8).equals(pngSignature)) return null
  let size: ImageSize | null = null
  for (let at = 8; at + 12 <= bytes.length; ) {
    const [length, name] = [bytes.readUInt32BE(at), bytes.toString('latin1', at + 4, at + 8)]
    const end = at + 12 + length
    if (size === null && (name !== 'IHDR' || length !== 13 || end > bytes.length)) return null
    size ??= { width: bytes.readUInt32BE(at + 8), height: bytes.readUInt32BE(at + 12) }
    if (name === 'acTL') return null
    if (name === 'IEND') return end === bytes.length ? size : null
    at = end
  }
  return null
}

/** RFC 9649 §2: the file has the length that its header says. An extended file says itself whether it is animated. */
function sizeOfWebp(bytes: Buffer): ImageSize | null {
  const name = (at: number) => bytes.toString('latin1', at, at + 4)
  if (bytes.length < 30 || name(0) !== 'RIFF' || name(8) !== 'WEBP') return null
  if (bytes.readUInt32LE(4) + 8 !== bytes.length) return null
  switch (name(12)) {
    case 'VP8 ':
      if (bytes.readUIntBE(23, 3) !== 0x9d012a) return null
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      if (bytes[20] !== 0x2f) return null
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      if ((bytes[20]! & 0x02) !== 0) return null
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}
